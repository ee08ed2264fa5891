"""The plugin and `longshore schedule` on one API server put the same pods on the same nodes; what counts as that."""

from pathlib import Path

import pytest

from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.same_nodes import (
    BundleResult,
    DecisionTail,
    NodeDifference,
    PlacedPod,
    difference,
    is_near_tie,
    prove_same_nodes,
    repository_bundles,
)

CHOSEN = ("deepsets-32", "openb")
ROUNDS, PODS = 2, 8


def test_the_same_node_and_devices_are_the_same() -> None:
    assert difference(PlacedPod("a", "0,1"), PlacedPod("a", "0,1")) is None
    assert difference(PlacedPod(None, message="x"), PlacedPod(None, message="y")) is None


@pytest.mark.parametrize("other", [PlacedPod("b", "0"), PlacedPod("a", "1"), PlacedPod(None)])
def test_other_nodes_and_devices_differ(other: PlacedPod) -> None:
    assert "standalone" in str(difference(PlacedPod("a", "0"), other))


@pytest.mark.parametrize(
    ("scores", "tolerance", "is_near"),
    [
        ([], 1e-6, False),
        ([1.0], 1e-6, False),
        ([1.0, 0.9], 1e-6, False),
        ([1.0, 0.99995], 1e-6, True),
        ([900.0, 899.95], 1e-6, True),
        ([10.0, 9.0], 1.0, True),
        ([10.0, 9.5], 1.0, False),
    ],
)
def test_near_ties_are_those_that_rounding_may_decide(scores: list[float], tolerance: float, is_near: bool) -> None:
    assert is_near_tie([(str(number), score) for number, score in enumerate(scores)], tolerance) is is_near


def test_a_result_is_well_only_without_differences_and_fallbacks() -> None:
    assert BundleResult("x", pods=1).is_well
    assert not BundleResult("x").is_well
    assert not BundleResult("x", pods=1, fallbacks=1).is_well
    assert not BundleResult("x", pods=1, differences=[NodeDifference(0, "p", "w")]).is_well


def test_the_bundles_of_the_repository_serve_any_number_of_nodes() -> None:
    assert {"deepsets", "deepsets-32", "gnn", "openb", "openb-nodes"} <= repository_bundles().keys()
    assert "mlp" not in repository_bundles()


async def test_candidates_are_read_from_the_decision_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = ('{"pod_uid": "a", "candidates": [["x", 1]]}', '{"pod_uid": "b", "candidates": [["y", 2], ["z", 1.5]]}')
    log.write_text("\n".join(lines))
    assert await DecisionTail(log).candidates("b") == [("y", 2.0), ("z", 1.5)]


@pytest.mark.slow
async def test_both_put_the_same_pods_on_the_same_nodes(plugin_cluster: LocalCluster) -> None:
    bundles = {name: repository_bundles()[name] for name in CHOSEN}
    told: list[tuple[int, int]] = []
    results = await prove_same_nodes(plugin_cluster, bundles, ROUNDS, PODS, 1, lambda *counts: told.append(counts))
    assert [each.what for result in results for each in result.differences] == []
    assert all(result.is_well for result in results)
    assert all(result.placed > 0 for result in results)
    assert sum(result.with_devices for result in results) > 0
    assert told[-1] == (sum(result.pods for result in results), 0)
