"""What every filter of the registry owes: a mask, the same bits in NumPy and JAX, a reason for every refusal."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import UnknownNameError
from longshore.filters import REGISTRY, SETS, UPSTREAM, feasible, filter_set, judge, load
from longshore.filters.base import Filter
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import to_jax
from support.uniform import PADDED_NODES, Cluster, device_clusters, oracle_clusters

NAMES = REGISTRY.names()
SERIES = {"upstream's constraints": lambda: oracle_clusters(400), "devices and latency": lambda: device_clusters(100)}
SHORT_CUT = ("NodePorts", "PodTopologySpread", "InterPodAffinity")
"""Filters whose terms stand in tables that may have no column."""

every_filter = pytest.mark.parametrize("name", NAMES)
every_set = pytest.mark.parametrize("set_name", SETS)
every_series = pytest.mark.parametrize("series", SERIES)


@lru_cache
def unit(name: str) -> Filter:
    found = REGISTRY.load(name)
    assert isinstance(found, Filter)
    return found


def counted(function: Callable[..., Array]) -> tuple[Callable[..., Array], list[int]]:
    """Compile a function and count how often it is traced."""
    traces: list[int] = []

    def traced(arrays: Any, pod_class: Array) -> Array:
        traces.append(1)
        return function(arrays, pod_class)

    return jax.jit(traced), traces


def plain_cluster(padded_nodes: int | None = None) -> Cluster:
    """Return a cluster whose pods have no constraint at all."""
    snapshot = make_snapshot(make_node("a"), make_node("b"), make_pod("p").cpu("1"), make_pod("q").on("a"))
    encoded = encode(snapshot, padded_nodes=padded_nodes)
    return Cluster(encoded, encoded.arrays, 0)


@every_filter
def test_filters_have_a_line_of_help(name: str) -> None:
    assert REGISTRY.describe(name)


@every_filter
@every_series
def test_filters_give_one_bool_per_node(name: str, series: str) -> None:
    for cluster in SERIES[series]()[:50]:
        mask = unit(name).feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        assert isinstance(mask, np.ndarray)
        assert (mask.shape, mask.dtype) == ((PADDED_NODES,), np.dtype(bool))


@every_filter
@every_series
def test_numpy_and_jax_agree_to_the_last_bit(name: str, series: str) -> None:
    compiled, traces = counted(unit(name).feasible)
    for number, cluster in enumerate(SERIES[series]()):
        want = unit(name).feasible(cluster.uniform, np.asarray(cluster.pod_class))
        got = np.asarray(compiled(cluster.uniform, cluster.pod_class))
        assert got.dtype == bool
        np.testing.assert_array_equal(got, want, err_msg=f"cluster {number}")
    assert len(traces) == 1


@every_filter
@every_series
def test_terms_that_are_padding_change_nothing(name: str, series: str) -> None:
    for number, cluster in enumerate(SERIES[series]()):
        real = slice(0, cluster.num_nodes)
        want = unit(name).feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class))[real]
        got = unit(name).feasible(cluster.uniform, np.asarray(cluster.pod_class))[real]
        np.testing.assert_array_equal(got, want, err_msg=f"cluster {number}")


@every_filter
def test_numpy_and_jax_agree_on_arrays_as_encoded(name: str) -> None:
    # Here tables without a column keep that shape, so that JAX takes the short cuts too.
    for cluster in (*oracle_clusters(400)[:6], *device_clusters(100)[:2], plain_cluster()):
        want = unit(name).feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        got = jax.jit(unit(name).feasible)(to_jax(cluster.encoded.arrays), cluster.pod_class)
        np.testing.assert_array_equal(np.asarray(got), want)


@every_set
def test_a_set_is_compiled_once_for_all_classes_of_a_cluster(set_name: str) -> None:
    compiled, traces = counted(lambda arrays, pod_class: feasible(arrays, pod_class, filter_set(set_name)))
    for cluster in device_clusters(100)[:5]:
        for pod_class in range(len(cluster.encoded.specs)):
            want = feasible(cluster.encoded.arrays, np.asarray(pod_class), filter_set(set_name))
            np.testing.assert_array_equal(np.asarray(compiled(cluster.uniform, pod_class)), want)
    assert len(traces) == 1


@every_set
@every_series
def test_padding_is_never_feasible(set_name: str, series: str) -> None:
    for cluster in SERIES[series]():
        mask = feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class), filter_set(set_name))
        assert not mask[cluster.num_nodes :].any()


@pytest.mark.parametrize("names", [(), *((name,) for name in NAMES)], ids=lambda names: "".join(names) or "no filter")
def test_padding_is_not_feasible_under_any_choice_of_filters(names: tuple[str, ...]) -> None:
    for cluster in (*oracle_clusters(400)[:100], plain_cluster(padded_nodes=4)):
        mask = feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class), names)
        assert not mask[cluster.num_nodes :].any()


@every_series
def test_padding_changes_nothing(series: str) -> None:
    for cluster in SERIES[series]():
        narrow = encode(cluster.encoded.snapshot)
        want = feasible(narrow.arrays, np.asarray(cluster.pod_class))
        got = feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        np.testing.assert_array_equal(got[: cluster.num_nodes], want)


@every_set
@every_series
def test_reasons_are_given_exactly_for_refused_nodes(set_name: str, series: str) -> None:
    num_refused = 0
    for cluster in SERIES[series]():
        names = cluster.encoded.node_names
        mask = feasible(cluster.encoded.arrays, np.asarray(cluster.pod_class), filter_set(set_name))
        judged, found = judge(cluster.encoded, cluster.pod_class, filter_set(set_name))
        np.testing.assert_array_equal(judged, mask)
        assert set(found) == {
            name for name, is_allowed in zip(names, mask[: len(names)], strict=True) if not is_allowed
        }
        assert all(rejection.reasons and all(rejection.reasons) for rejection in found.values())
        num_refused += len(found)
    assert num_refused > 0


@every_filter
def test_a_filter_explains_every_node_that_it_refuses(name: str) -> None:
    num_refused = 0
    for cluster in (*oracle_clusters(400), *device_clusters(100)):
        found = judge(cluster.encoded, cluster.pod_class, (name,))[1]
        # Upstream names no plugin where the framework itself narrowed the nodes.
        expected = {"", "NodeAffinity"} if name == "PreFilter" else {name}
        assert {rejection.filter for rejection in found.values()} <= expected
        assert all(rejection.reasons for rejection in found.values())
        num_refused += len(found)
    assert num_refused > 0, "the series never meets this filter"


@every_filter
def test_a_filter_explains_many_nodes_as_it_explains_each(name: str) -> None:
    for cluster in (*oracle_clusters(400)[:100], *device_clusters(100)):
        encoded, pod_class = cluster.encoded, cluster.pod_class
        refused = np.flatnonzero(
            encoded.arrays.nodes.is_real & ~unit(name).feasible(encoded.arrays, np.asarray(pod_class))
        )
        if not len(refused):
            continue
        together = unit(name).explain(encoded, pod_class, refused.tolist())
        assert together == [
            reason for node in refused for reason in unit(name).explain(encoded, pod_class, [int(node)])
        ]


def test_explaining_thousands_of_nodes_asks_every_filter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def explain(encoded: Any, pod_class: int, nodes: Any) -> Any:
        calls.append(len(nodes))
        return unit("NodeResourcesFit").explain(encoded, pod_class, nodes)

    counting = replace(unit("NodeResourcesFit"), explain=explain)
    monkeypatch.setattr(filters, "load", lambda names: (("NodeResourcesFit", counting),))
    encoded = encode(make_snapshot(*(make_node(f"n{i}") for i in range(50)), make_pod("p").cpu("64")))
    assert len(judge(encoded, 0)[1]) == 50
    assert calls == [50]


def test_the_first_filter_that_refuses_is_named() -> None:
    node = make_node("a").taint("dedicated").unschedulable()
    encoded = encode(make_snapshot(node, make_pod("p").cpu("64")))
    assert judge(encoded, 0)[1]["a"].filter == "NodeUnschedulable"
    assert judge(encoded, 0, ("NodeResourcesFit", "TaintToleration"))[1]["a"].filter == "NodeResourcesFit"


@pytest.mark.parametrize("name", SHORT_CUT)
def test_a_filter_that_no_pod_can_trigger_costs_nothing(name: str) -> None:
    arrays = plain_cluster().encoded.arrays
    assert unit(name).feasible(arrays, np.asarray(0)) is arrays.nodes.is_real
    assert jax.make_jaxpr(unit(name).feasible)(to_jax(arrays), 0).eqns == []


@pytest.mark.parametrize("name", SHORT_CUT)
def test_the_short_cut_is_not_taken_where_a_pod_has_terms(name: str) -> None:
    assert jax.make_jaxpr(unit(name).feasible)(oracle_clusters(400)[0].uniform, 0).eqns


def test_sets_differ_by_the_latency_limit_only() -> None:
    assert filter_set("upstream") == UPSTREAM
    assert filter_set("upstream+latency") == (*UPSTREAM, "LatencyLimit")
    assert filter_set("upstream+known-latency") == (*UPSTREAM, "LatencyLimit", "LatencyKnown")
    assert "LatencyLimit" not in UPSTREAM
    assert set(REGISTRY.table) == set(filter_set("upstream+known-latency"))


def test_filters_of_other_packages_join_the_larger_set(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = metadata.EntryPoints([metadata.EntryPoint("Mine", "mine:FILTER", "longshore.filters")])
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries.select(group=group))
    monkeypatch.setattr(filters, "REGISTRY", replace(REGISTRY))
    assert filter_set("upstream") == UPSTREAM
    assert filter_set("upstream+latency") == (*UPSTREAM, "LatencyLimit", "Mine")
    assert filter_set("upstream+known-latency") == (*UPSTREAM, "LatencyLimit", "LatencyKnown", "Mine")


def test_only_the_set_with_latency_heeds_a_latency_limit() -> None:
    far = make_node("far").readings(latency_ms=90.0)
    arrays = encode(make_snapshot(far, make_pod("p").latency(hard_ms=10.0))).arrays
    assert feasible(arrays, np.asarray(0), filter_set("upstream")).tolist() == [True]
    assert feasible(arrays, np.asarray(0), filter_set("upstream+latency")).tolist() == [False]


def test_an_unknown_set_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `upstream`"):
        filter_set("upstrem")


def test_filters_are_loaded_in_the_order_given() -> None:
    assert [name for name, _ in load(("NodePorts", "NodeName"))] == ["NodePorts", "NodeName"]


def test_filters_by_name_and_by_file_stand_behind_a_set(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from longshore.filters.base import Filter, fixed\n"
        "FILTER = Filter(lambda arrays, _: arrays.nodes.is_real & False, fixed('Mine', 'none'))\n"
    )
    names = filter_set(f"upstream,LatencyLimit,{file}:FILTER")
    assert names == (*UPSTREAM, "LatencyLimit", f"{file}:FILTER")
    assert not feasible(plain_cluster().uniform, np.asarray(0), names).any()
    with pytest.raises(UnknownNameError, match="did you mean `NodeName`"):
        filter_set("upstream,NodeNam")
