"""Nodes with room for the pod: CPU, memory, ephemeral storage, extended resources and the number of pods."""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import Happening
from longshore.filters.base import Filter, Reach


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where every request fits; a request of zero fits even on a node that is over-committed."""
    request = arrays.classes.request[pod_class]
    has_room = arrays.state.pod_count < arrays.nodes.allowed_pods
    if namespace(request) is np:
        # Column by column, and most pods ask for few of all resources: NumPy is slow on short rows.
        for column in request.nonzero()[0].tolist():
            free = arrays.nodes.allocatable[:, column] - arrays.state.requested[:, column]
            has_room &= request[column] <= free
        return has_room
    free = arrays.nodes.allocatable - arrays.state.requested
    return ((request <= free) | (request == 0)).all(axis=1) & has_room


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Name every resource that is short; a pod larger than the whole node can never fit."""
    arrays, rows = encoded.arrays, np.asarray(nodes)
    request, allocatable = arrays.classes.request[pod_class], arrays.nodes.allocatable[rows]
    short = (request > allocatable - arrays.state.requested[rows]) & (request > 0)
    is_full = arrays.state.pod_count[rows] >= arrays.nodes.allowed_pods[rows]
    is_resolvable = ~(short & (request > allocatable)).any(axis=1)
    sentences = ("Too many pods", *(f"Insufficient {name}" for name in encoded.resource_names))
    # Thousands of nodes fail in a handful of ways; numbered column by column, since whole rows are slow to compare.
    short, way_of = np.column_stack([is_full, short]), is_resolvable.astype(np.int64)
    for column in np.flatnonzero(short.any(axis=0)).tolist():
        way_of = np.unique(2 * way_of + short[:, column], return_inverse=True)[1].reshape(-1)
    _, firsts, numbers = np.unique(way_of, return_index=True, return_inverse=True)
    rejections = [
        Rejection("NodeResourcesFit", tuple(compress(sentences, short[i])), is_resolvable=bool(is_resolvable[i]))
        for i in firsts.tolist()
    ]
    return [rejections[number] for number in numbers.reshape(-1).tolist()]


_CHANGES = Happening.NODE_ALLOCATABLE | Happening.POD_DELETED | Happening.POD_SHRANK
FILTER = Filter(feasible, explain, helped_by=_CHANGES, reach=lambda _classes, _pod_class: Reach.PODS)
