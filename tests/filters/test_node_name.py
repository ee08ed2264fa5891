"""Tests of NodeName: the node that a pod names itself."""

from filters.judging import judge, refused
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NODES = (make_node("a"), make_node("b"))
REJECTION = Rejection("NodeName", ("node(s) didn't match the requested node name",), is_resolvable=False)


def test_only_the_named_node_is_left() -> None:
    assert judge("NodeName", *NODES, make_pod("new").spec(node_name="b")) == {"a": REJECTION}


def test_a_pod_that_names_no_node_may_go_anywhere() -> None:
    assert refused("NodeName", *NODES, make_pod("new")) == set()


def test_a_node_that_is_not_there_leaves_none() -> None:
    assert refused("NodeName", *NODES, make_pod("new").spec(node_name="z")) == {"a", "b"}
