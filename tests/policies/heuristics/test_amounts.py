"""The rules on CPU and memory shares and on readings, by hand-computed scores."""

import numpy as np
import pytest

from longshore.policies import REGISTRY
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import WORST_READING, divide_towards_zero, used_shares_after
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode

NODES = (
    make_node("a").cpu(4000).memory("16Gi").readings(latency_ms=12.0, connections=7.0, traffic_bytes_per_second=2e9),
    make_node("b").cpu(8000).memory("16Gi").readings(latency_ms=3.5, connections=9.0, traffic_bytes_per_second=1e6),
    make_node("c").cpu(2000).memory("32Gi").power(50.0, 90.0),
)
POD = make_pod("p").cpu(1000).memory("4Gi")


@pytest.mark.parametrize(
    ("name", "want_scores"),
    [
        # Shares with the pod: a 0.25 and 0.25, b 0.125 and 0.25, c 0.5 and 0.125.
        ("best-fit", [-0.75, -0.8125, -0.6875]),
        ("worst-fit", [0.75, 0.8125, 0.6875]),
        ("balance-fit", [0.0, -0.125, -0.375]),
        ("low-power", [-50.0, -25.0, -20.0]),
        ("lowest-latency", [-12.0, -3.5, -WORST_READING]),
        ("least-connections", [-7.0, -9.0, -WORST_READING]),
        ("least-traffic", [-2e9, -1e6, -WORST_READING]),
        ("least-allocated", [75, 81, 68]),
        ("most-allocated", [25, 18, 31]),
        ("requested-to-capacity-ratio", [25, 19, 31]),
        ("first-fit", [0, 0, 0]),
        ("round-robin", [0, -1, -2]),
    ],
)
def test_scores_by_hand(name: str, want_scores: list[float]) -> None:
    heuristic = REGISTRY.load(name)
    assert isinstance(heuristic, Policy)
    arrays = encode(make_snapshot(*NODES, POD)).arrays
    assert heuristic.score(arrays, 0, arrays.nodes.is_real).tolist() == pytest.approx(want_scores)


def test_a_resource_that_the_node_lacks_is_used_up_only_if_asked_for() -> None:
    nodes = (make_node("a").memory(0),)
    arrays = encode(make_snapshot(*nodes, make_pod("p").cpu(1000), make_pod("q").cpu(1000).memory(1))).arrays
    assert used_shares_after(arrays, 0).tolist() == [[0.25, 0.0]]
    assert used_shares_after(arrays, 1).tolist() == [[0.25, 1.0]]


def test_division_cuts_towards_zero_as_go_does() -> None:
    assert divide_towards_zero(np.array([7, -7, 6, -6, 0]), 3).tolist() == [2, -2, 2, -2, 0]
