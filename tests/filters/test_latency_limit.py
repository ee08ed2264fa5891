"""Tests of LatencyLimit and LatencyKnown: the hard limit, its edge, and nodes that were never measured."""

import pytest

from filters.judging import reasons, refused
from support.builders import make_node, make_pod

NAME = "LatencyLimit"
NODES = (
    make_node("near").readings(latency_ms=5.0),
    make_node("far").readings(latency_ms=80.0),
    make_node("unknown"),
)
SLOW = ("node(s) exceeded the pod's hard latency limit",)
UNKNOWN = ("node(s) had no latency reading for the pod's hard limit",)


def test_a_slow_node_is_refused_and_one_that_was_not_measured_is_a_matter_of_choice() -> None:
    limited = make_pod("new").latency(hard_ms=20.0)
    assert reasons(NAME, *NODES, limited) == {"far": SLOW}
    assert reasons("LatencyKnown", *NODES, limited) == {"unknown": UNKNOWN}


@pytest.mark.parametrize(
    ("hard_ms", "want"),
    [
        pytest.param(80.0, set(), id="exactly the limit"),
        pytest.param(79.9, {"far"}, id="just above the limit"),
        pytest.param(0.0, {"near", "far"}, id="a limit that nobody keeps"),
        pytest.param(None, set(), id="no limit"),
    ],
)
def test_nodes_beyond_a_hard_limit_are_refused(hard_ms: float | None, want: set[str]) -> None:
    assert refused(NAME, *NODES, make_pod("new").latency(hard_ms=hard_ms)) == want


def test_without_a_hard_limit_nothing_need_be_known() -> None:
    assert refused("LatencyKnown", *NODES, make_pod("new").latency(soft_ms=1.0)) == set()


def test_a_soft_limit_keeps_nobody_away() -> None:
    assert refused(NAME, *NODES, make_pod("new").latency(soft_ms=1.0)) == set()
