"""Columns that are kept: the features of the plain path, whatever changed in between."""

from typing import Any

import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.features import ALL, features
from longshore.core.arrays.gpu import best_fit
from longshore.core.arrays.ops import Array, set_at
from longshore.core.arrays.place import place
from longshore.policies import column_cache
from longshore.policies.column_cache import ColumnCache
from support.builders import random_snapshot
from support.compiling import encode


@pytest.fixture(params=[None, 9], ids=["without padding", "padded"])
def arrays(request: pytest.FixtureRequest) -> ClusterArrays:
    return encode(random_snapshot(3), padded_nodes=request.param).arrays


def with_pod(arrays: ClusterArrays, node: int) -> ClusterArrays:
    pod_class = np.asarray(0)
    return place(arrays, pod_class, np.asarray(node), best_fit(arrays, pod_class)[node])


def with_latency(arrays: ClusterArrays, node: int, latency_ms: float) -> ClusterArrays:
    readings = arrays.readings
    known = set_at(readings.latency_known, node, True)
    changed = readings._replace(latency_ms=set_at(readings.latency_ms, node, latency_ms), latency_known=known)
    return arrays._replace(readings=changed)


def with_more_cpu(arrays: ClusterArrays, node: int) -> ClusterArrays:
    larger = set_at(arrays.nodes.allocatable, node, arrays.nodes.allocatable[node] * 2)
    return arrays._replace(nodes=arrays.nodes._replace(allocatable=larger))


def asked(arrays: ClusterArrays, pod_class: int) -> tuple[ClusterArrays, Array, Array]:
    return arrays, np.asarray(pod_class), filters.feasible(arrays, np.asarray(pod_class))


def assert_same(cache: ColumnCache, arrays: ClusterArrays) -> None:
    for pod_class in range(3):
        now = asked(arrays, pod_class)
        np.testing.assert_array_equal(cache.rows(*now), features(*now))


@pytest.mark.parametrize(
    "change",
    [lambda a: a, lambda a: with_pod(a, 1), lambda a: with_latency(a, 2, 7.0), lambda a: with_more_cpu(a, 0)],
    ids=["nothing", "a pod", "a reading", "the nodes themselves"],
)
def test_features_stay_those_of_the_plain_path(arrays: ClusterArrays, change: Any) -> None:
    cache = ColumnCache(ALL)
    assert_same(cache, arrays)
    assert_same(cache, change(arrays))
    assert_same(cache, arrays)


def test_what_only_nodes_decide_is_computed_once(arrays: ClusterArrays, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[str]] = []

    def write(view: Any, wanted: Any, found: Array) -> None:
        written.append([feature.name for _, feature in wanted])
        features_module.write_columns(view, wanted, found)

    features_module = column_cache.table
    monkeypatch.setattr(column_cache, "write_columns", write)
    cache = ColumnCache(("cost", "latency", "node_cpu_used", "cluster_cpu_mean", "is_feasible"))
    cache.rows(*asked(arrays, 0))
    cache.rows(*asked(with_pod(arrays, 1), 0))
    cache.rows(*asked(with_latency(arrays, 1, 7.0), 0))
    everything = ["cost", "latency", "node_cpu_used", "cluster_cpu_mean", "is_feasible"]
    # Rows of the view's block, and pools, are written at once and not one by one.
    assert written == [everything, ["is_feasible"], everything]


@pytest.mark.parametrize(
    "names",
    [
        ("cluster_cpu_mean", "node_is_on", "cost", "after_imbalance", "cluster_on_share", "after_cpu_used"),
        ("after_pods_used", "node_cpu_free", "node_memory_free", "cluster_cpu_least"),
        ("cost",),
    ],
    ids=["mixed", "backwards", "nothing that changes"],
)
def test_features_in_any_order_are_those_of_the_plain_path(arrays: ClusterArrays, names: tuple[str, ...]) -> None:
    cache = ColumnCache(names)
    for now in (arrays, with_pod(arrays, 1), with_pod(with_pod(arrays, 1), 2)):
        np.testing.assert_array_equal(cache.rows(*asked(now, 0)), features(*asked(now, 0), names))


def test_memory_is_bounded(arrays: ClusterArrays, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ColumnCache(("cost", "latency"))
    monkeypatch.setattr(column_cache, "MOST_BYTES", 2 * 2 * 4 * arrays.nodes.is_real.shape[0])
    for pod_class in (0, 1, 0, 2):
        cache.rows(*asked(arrays, pod_class))
    assert list(cache._kept._values) == [0, 2]
