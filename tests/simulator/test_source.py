"""Traces of one shape: nothing grows after the first seeds, and padding changes nothing that is played."""

from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest

from longshore import filters, policies
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Trace
from longshore.simulator.params import compile_trace
from longshore.simulator.reference import Reference
from longshore.simulator.source import TraceSource
from longshore.workloads.build import build_workload
from longshore.workloads.machines import make_node


def shapes_of(tree: object) -> list[tuple[int, ...]]:
    return [np.shape(leaf) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("name", ["test1", "poisson", "churn", "diurnal"])
def test_seeds_soon_share_one_shape(name: str) -> None:
    source = TraceSource(build_workload(name, {"nodes": 6, "pods": 40}))
    assert source.num_nodes == 6
    source.params_of(range(6))
    shapes = source.shapes
    for seed in range(6, 16):
        params = source.params(seed)
        assert shapes_of(params) == list(source.shapes)
    assert source.shapes == shapes
    assert source.has_node_events == (name == "churn")


def test_several_seeds_come_in_one_shape_even_if_the_last_is_the_largest() -> None:
    source = TraceSource(_Growing())
    found = source.params_of([1, 2, 40])
    assert {tuple(shapes_of(one)) for one in found} == {source.shapes}


def test_gpus_of_nodes_are_seen() -> None:
    assert not TraceSource(_Growing()).has_gpus
    assert TraceSource(_WithGpus()).has_gpus


def test_what_is_known_of_nodes_is_not_filled_up() -> None:
    tables = TraceSource(_WithGpus()).params(0).cluster.tables
    assert tables.typical_rest.shape == tables.typical_share.shape[1:] == (3,)


def test_what_is_filled_up_plays_alike() -> None:
    workload = build_workload("diurnal", {"nodes": 6, "pods": 60, "load": 0.9})
    source = TraceSource(workload)
    source.params_of([1, 2])
    bare = compile_trace(workload.trace(3), seed=3)
    filled = replace(bare, params=source.params(3))
    assert shapes_of(filled.params) != shapes_of(bare.params)
    heuristic = policies.REGISTRY.load("kube-default")
    want, got = (list(Reference(one, heuristic, filters.UPSTREAM).play()) for one in (bare, filled))
    assert got == want


def test_traces_may_have_different_zones() -> None:
    source = TraceSource(_Zoned())
    few, many = source.params_of([1, 3])
    assert few.cluster.readings.zone_near.shape == many.cluster.readings.zone_near.shape
    # What is filled up is not known.
    assert (few.cluster.readings.zone_near > 0).sum() == 0
    assert (many.cluster.readings.zone_near > 0).sum() == 6


def test_traces_with_more_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="has 4 nodes, that of seed 0 has 3"):
        TraceSource(_Growing(grows_nodes=True)).params(1)


@dataclass(frozen=True)
class _Growing:
    """A workload that grows with its seed."""

    grows_nodes: bool = False

    def trace(self, seed: int) -> Trace:
        nodes = 3 + seed if self.grows_nodes else 3
        return build_workload("test1", {"nodes": nodes, "pods": 1 + seed}).trace(seed)


@dataclass(frozen=True)
class _Zoned:
    """A workload with as many zones as its seed says, each of three nodes knowing the way to all of them."""

    def trace(self, seed: int) -> Trace:
        zones = [f"zone-{number}" for number in range(max(seed, 1))]
        nodes = tuple(
            make_node(
                name,
                cpu=1,
                memory_mib=1,
                labels={ZONE_KEY: zones[number % len(zones)]},
                zone_latency_ms=dict.fromkeys(zones, 1.0),
            )
            for number, name in enumerate("abc")
        )
        return replace(build_workload("test1", {"nodes": 3, "pods": 2}).trace(seed), nodes=nodes, events=())


@dataclass(frozen=True)
class _WithGpus:
    """A workload of whose nodes the first has a GPU."""

    def trace(self, seed: int) -> Trace:
        plain = _Growing().trace(seed)
        return replace(plain, nodes=(replace(plain.nodes[0], gpu_count=1), *plain.nodes[1:]))
