"""Nodes that the pod's node selector and required node affinity match."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes that match."""
    return arrays.tables.masks[arrays.classes.affinity_mask[pod_class]]


FILTER = Filter(feasible, fixed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"))
