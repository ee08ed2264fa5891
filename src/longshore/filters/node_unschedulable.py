"""Nodes that are not cordoned, unless the pod tolerates that."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes that take new pods."""
    return arrays.tables.masks[arrays.classes.unschedulable_mask[pod_class]]


FILTER = Filter(feasible, fixed("NodeUnschedulable", "node(s) were unschedulable"))
