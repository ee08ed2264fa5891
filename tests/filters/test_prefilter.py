"""Tests of PreFilter: affinity to `metadata.name` narrows the nodes before any filter runs."""

from filters.judging import judge, refused
from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodeSelectorTerm
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NODES = (make_node("a"), make_node("b"), make_node("c"))


def named(*names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((), tuple(Requirement("metadata.name", "In", (name,)) for name in names))


def test_nodes_that_are_not_named_carry_the_frameworks_own_status() -> None:
    want = Rejection("", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_resolvable=False)
    pod = make_pod("new").spec(node_affinity=(named("a"), named("b")))
    assert judge("PreFilter", *NODES, pod) == {"c": want}


def test_a_term_that_names_two_nodes_conflicts_with_itself() -> None:
    want = Rejection("NodeAffinity", ("pod affinity terms conflict",), is_resolvable=False)
    pod = make_pod("new").spec(node_affinity=(named("a", "b"),))
    assert judge("PreFilter", *NODES, pod) == dict.fromkeys("abc", want)


def test_a_term_that_names_no_node_leaves_the_question_open() -> None:
    by_label = NodeSelectorTerm((Requirement("disk", "Exists"),))
    assert refused("PreFilter", *NODES, make_pod("new").spec(node_affinity=(named("a"), by_label))) == set()


def test_names_to_avoid_leave_the_question_open() -> None:
    avoid = NodeSelectorTerm((), (Requirement("metadata.name", "NotIn", ("a",)),))
    assert refused("PreFilter", *NODES, make_pod("new").spec(node_affinity=(avoid,))) == set()


def test_a_pod_without_affinity_may_go_anywhere() -> None:
    assert refused("PreFilter", *NODES, make_pod("new")) == set()
