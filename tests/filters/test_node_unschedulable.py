"""Tests of NodeUnschedulable: cordoned nodes, and pods that tolerate that."""

import pytest

from filters.judging import judge, refused
from longshore.filters.base import Rejection
from support.builders import make_node, make_pod

NODES = (make_node("open"), make_node("cordoned").unschedulable())
TAINT = "node.kubernetes.io/unschedulable"


def test_a_cordoned_node_takes_no_new_pods() -> None:
    want = Rejection("NodeUnschedulable", ("node(s) were unschedulable",), is_resolvable=False)
    assert judge("NodeUnschedulable", *NODES, make_pod("new")) == {"cordoned": want}


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        pytest.param((TAINT, "Exists", "", "NoSchedule"), set(), id="the taint itself"),
        pytest.param((TAINT, "Exists"), set(), id="the taint with any effect"),
        pytest.param(("", "Exists"), set(), id="everything"),
        pytest.param((TAINT, "Equal", ""), set(), id="the taint's empty value"),
        pytest.param((TAINT, "Equal", "yes"), {"cordoned"}, id="another value"),
        pytest.param((TAINT, "Exists", "", "NoExecute"), {"cordoned"}, id="another effect"),
        pytest.param(("other", "Exists"), {"cordoned"}, id="another key"),
    ],
)
def test_a_pod_may_tolerate_cordoned_nodes(toleration: tuple[str, ...], want: set[str]) -> None:
    assert refused("NodeUnschedulable", *NODES, make_pod("new").toleration(*toleration)) == want
