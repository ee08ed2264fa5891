"""Feasibility with Kubernetes' meaning: one file per constraint, in the order in which upstream asks."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.static import StaticPart
from longshore.core.words.decision import Rejection
from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore.core.words.registry import Registry
from longshore.filters.base import Filter

_UPSTREAM = {
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
}
"""What kube-scheduler does, and the devices of GPUs."""
_OURS = {
    "LatencyLimit": "longshore.filters.latency_limit:FILTER",
    "LatencyKnown": "longshore.filters.latency_known:FILTER",
}
"""What longshore's own policies heed beside."""
REGISTRY = Registry("filter", _UPSTREAM | _OURS, "longshore.filters", "longshore.filters.base:Filter")

Refused = tuple[list[int], list[Rejection]]
"""Nodes, and why each of them is refused."""

# kube-default and plain heuristics run with `upstream`, longshore's own policies with `upstream+latency`.
LIMITED, MEASURED = "upstream+latency", "upstream+known-latency"
"""Nodes without a reading may take a pod with a hard latency limit in the first, and may not in the second."""
UPSTREAM = tuple(_UPSTREAM)


SETS = ("upstream", LIMITED, MEASURED)


@lru_cache(maxsize=64)
def load(names: tuple[str, ...]) -> tuple[tuple[str, Filter], ...]:
    """Load filters by name, in the order given."""
    units = tuple((name, REGISTRY.find(name)) for name in names)
    for name, unit in units:
        if unit.static is not None and unit.static.filter != name:
            raise LongshoreError(
                f"filter `{name}`: its static part is named `{unit.static.filter}`, expected the filter's own name",
                f"give both one name, in `{REGISTRY.target(name)}` and in `longshore.filters`",
            )
    return units


def static_parts() -> tuple[StaticPart, ...]:
    """Return what clusters have to be compiled with, so that every filter can be asked; `load` tells of broken ones."""
    parts = []
    for name in REGISTRY.names():
        with suppress(LongshoreError):
            parts.append(load((name,))[0][1].static)
    return tuple(part for part in parts if part is not None)


def filter_set(text: str) -> tuple[str, ...]:
    """Return the filters of a named set, and those that stand behind it: `upstream,path/to/file.py:FILTER`.

    Filters of other packages join the larger sets.

    Raises:
        UnknownNameError: there is no such set.
        InputError: what stands behind it is no filter.
    """
    name, *others = text.split(",")
    if name not in SETS:
        raise UnknownNameError("filter set", name, SETS)
    load(tuple(others))
    if name == "upstream":
        return (*UPSTREAM, *others)
    left_out = UPSTREAM if name == MEASURED else (*UPSTREAM, "LatencyKnown")
    return (*UPSTREAM, *(one for one in REGISTRY.names() if one not in left_out), *others)


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
    for nodes, reasons in refusals(encoded, pod_class, names, mask):
        found.update(zip((encoded.node_names[node] for node in nodes), reasons, strict=True))
    return mask, found


def refusals(encoded: Encoded, pod_class: int, names: Sequence[str], left: Array) -> Iterator[Refused]:
    """Yield, filter by filter, the nodes that it refuses first, and why; they are taken out of `left` [nodes] bool."""
    for _, unit in load(tuple(names)):
        allowed = unit.feasible(encoded.arrays, np.asarray(pod_class))
        refused = np.flatnonzero(left & ~allowed).tolist()
        left &= allowed
        if refused:
            yield refused, unit.explain(encoded, pod_class, refused)
