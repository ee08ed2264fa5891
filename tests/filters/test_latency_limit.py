"""Tests of LatencyLimit: the hard limit, its edge, and nodes that were never measured."""

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


def test_slow_and_unmeasured_nodes_are_told_apart() -> None:
    assert reasons(NAME, *NODES, make_pod("new").latency(hard_ms=20.0)) == {"far": SLOW, "unknown": UNKNOWN}


@pytest.mark.parametrize(
    ("hard_ms", "want"),
    [
        pytest.param(80.0, {"unknown"}, id="exactly the limit"),
        pytest.param(79.9, {"far", "unknown"}, id="just above the limit"),
        pytest.param(0.0, {"near", "far", "unknown"}, id="a limit that nobody keeps"),
        pytest.param(None, set(), id="no limit: not even a reading is needed"),
    ],
)
def test_a_hard_limit_is_kept_by_known_latencies_only(hard_ms: float | None, want: set[str]) -> None:
    assert refused(NAME, *NODES, make_pod("new").latency(hard_ms=hard_ms)) == want


def test_a_soft_limit_keeps_nobody_away() -> None:
    assert refused(NAME, *NODES, make_pod("new").latency(soft_ms=1.0)) == set()
