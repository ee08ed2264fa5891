"""Feasibility with Kubernetes' meaning: one file per constraint, in the order in which upstream asks."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Rejection
from longshore.core.words.errors import UnknownNameError
from longshore.core.words.registry import Registry
from longshore.filters.base import Filter

REGISTRY = Registry(
    "filter",
    {
        "PreFilter": "longshore.filters.prefilter:FILTER",
        "NodeUnschedulable": "longshore.filters.node_unschedulable:FILTER",
        "NodeName": "longshore.filters.node_name:FILTER",
        "TaintToleration": "longshore.filters.taint_toleration:FILTER",
        "NodeAffinity": "longshore.filters.node_affinity:FILTER",
        "NodePorts": "longshore.filters.node_ports:FILTER",
        "NodeResourcesFit": "longshore.filters.node_resources_fit:FILTER",
        "VolumeBinding": "longshore.filters.volume_binding:FILTER",
        "VolumeZone": "longshore.filters.volume_zone:FILTER",
        "PodTopologySpread": "longshore.filters.pod_topology_spread:FILTER",
        "InterPodAffinity": "longshore.filters.inter_pod_affinity:FILTER",
        "GpuDevices": "longshore.filters.gpu_devices:FILTER",
        "LatencyLimit": "longshore.filters.latency_limit:FILTER",
    },
    "longshore.filters",
    "longshore.filters.base:Filter",
)

# kube-default and plain heuristics run with `upstream`, longshore's own policies with `upstream+latency`.
UPSTREAM = tuple(name for name in REGISTRY.table if name != "LatencyLimit")


class _Sets(Mapping[str, tuple[str, ...]]):
    """The named sets, read from the registry when they are asked for: other packages' filters join the larger one."""

    def __getitem__(self, name: str) -> tuple[str, ...]:
        if name == "upstream":
            return UPSTREAM
        if name == "upstream+latency":
            return (*UPSTREAM, *(name for name in REGISTRY.names() if name not in UPSTREAM))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("upstream", "upstream+latency"))

    def __len__(self) -> int:
        return 2


SETS = _Sets()


@lru_cache(maxsize=64)
def load(names: tuple[str, ...]) -> tuple[tuple[str, Filter], ...]:
    """Load filters by name, in the order given."""
    return tuple((name, REGISTRY.load(name)) for name in names)


def filter_set(name: str) -> tuple[str, ...]:
    """Return the filters of a named set."""
    if name not in SETS:
        raise UnknownNameError("filter set", name, tuple(SETS))
    return SETS[name]


def feasible(arrays: ClusterArrays, pod_class: Array, names: Sequence[str] = UPSTREAM) -> Array:
    """Return where a pod of the class may go [nodes]."""
    mask = arrays.nodes.is_real
    for _, unit in load(tuple(names)):
        mask = mask & unit.feasible(arrays, pod_class)
    return mask


def judge(encoded: Encoded, pod_class: int, names: Sequence[str] = UPSTREAM) -> tuple[Array, dict[str, Rejection]]:
    """Return where a pod of the class may go [nodes] and, for every other node, which filter rejects it first and why.

    The same mask as `feasible`, on NumPy arrays only; every filter runs once and explains all of its nodes at once.
    """
    found: dict[str, Rejection] = {}
    mask = encoded.arrays.nodes.is_real.copy()
    for _, unit in load(tuple(names)):
        allowed = unit.feasible(encoded.arrays, np.asarray(pod_class))
        rejected = np.flatnonzero(mask & ~allowed).tolist()
        if rejected:
            reasons = unit.explain(encoded, pod_class, rejected)
            found.update(zip((encoded.node_names[node] for node in rejected), reasons, strict=True))
        mask &= allowed
    return mask, found


def rejections(encoded: Encoded, pod_class: int, names: Sequence[str] = UPSTREAM) -> dict[str, Rejection]:
    """Say for every infeasible node which filter rejects it first, and why."""
    return judge(encoded, pod_class, names)[1]
