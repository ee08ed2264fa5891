"""What came of decisions: counts, spread of the load, watts, and broken latency limits."""

import pytest

from longshore.core.words.snapshot import Snapshot
from longshore.deciding.decide import decide_all
from longshore.deciding.find import find_policy
from longshore.deciding.placement_figures import PlacementFigures, placement_figures
from support.builders import make_node, make_pod
from support.compiling import encode

NEAR = make_node("near").cpu("4").memory("8Gi").power(100.0, 200.0).readings(latency_ms=5.0).build()
FAR = make_node("far").cpu("4").memory("8Gi").power(100.0, 200.0).readings(latency_ms=80.0).build()


def outcome_of(snapshot: Snapshot) -> PlacementFigures:
    start = encode(snapshot)
    steps = list(decide_all(start, find_policy("worst-fit")))
    return placement_figures(steps[-1][1] if steps else start, [decision for decision, _ in steps])


def test_outcome_counts_pods_nodes_and_watts() -> None:
    pods = (make_pod("a").cpu("2").build(), make_pod("huge").cpu("64").build())
    got = outcome_of(Snapshot(nodes=(NEAR, FAR), pods=pods))
    assert (got.placed, got.pending, got.active_nodes) == (1, 1, 1)
    assert got.cpu_variance == pytest.approx(0.0625)
    assert (got.watts_idle_on, got.watts_idle_off) == (250.0, 150.0)


def test_outcome_counts_pods_beyond_their_hard_limit() -> None:
    pods = tuple(make_pod(f"p{i}").cpu("3").latency(10.0, hard).build() for i, hard in enumerate((90.0, 20.0)))
    # The first takes one node and the second the other, in the order of names: `far`, then `near`.
    assert outcome_of(Snapshot(nodes=(NEAR, FAR), pods=pods)).beyond_hard_limit == 0
    assert outcome_of(Snapshot(nodes=(NEAR, FAR), pods=pods[::-1])).beyond_hard_limit == 1


def test_outcome_of_nothing_is_zero() -> None:
    assert outcome_of(Snapshot()) == PlacementFigures(0, 0, 0, 0, 0.0, 0.0, 0.0)


def test_a_node_without_cpu_counts_as_unused() -> None:
    assert outcome_of(Snapshot(nodes=(make_node("a").cpu("0").build(),))).cpu_variance == 0.0
