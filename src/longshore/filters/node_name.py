"""The node that the pod names itself (`spec.nodeName`)."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow the named node, all where none is named."""
    return arrays.tables.masks[arrays.classes.node_name_mask[pod_class]]


FILTER = Filter(feasible, fixed("NodeName", "node(s) didn't match the requested node name"))
