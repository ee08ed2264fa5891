"""Nodes with room for the pod: CPU, memory, ephemeral storage, extended resources and the number of pods."""

from longshore.core.arrays import ClusterArrays
from longshore.core.decision import Rejection
from longshore.core.encode import Encoded
from longshore.core.ops import Array
from longshore.filters.base import Filter


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where every request fits; a request of zero fits even on a node that is over-committed."""
    request = arrays.classes.request[pod_class]
    free = arrays.nodes.allocatable - arrays.state.requested
    has_room = ((request <= free) | (request == 0)).all(axis=1)
    return has_room & (arrays.state.pod_count < arrays.nodes.allowed_pods)


def explain(encoded: Encoded, pod_class: int, node: int) -> Rejection:
    """Name every resource that is short; a pod larger than the whole node can never fit."""
    arrays = encoded.arrays
    request, allocatable = arrays.classes.request[pod_class], arrays.nodes.allocatable[node]
    short = (request > allocatable - arrays.state.requested[node]) & (request > 0)
    is_full = arrays.state.pod_count[node] >= arrays.nodes.allowed_pods[node]
    names = [name for name, is_short in zip(encoded.resource_names, short, strict=True) if is_short]
    reasons = ("Too many pods",) * bool(is_full) + tuple(f"Insufficient {name}" for name in names)
    return Rejection("NodeResourcesFit", reasons, is_resolvable=not (short & (request > allocatable)).any())


FILTER = Filter(feasible, explain)
