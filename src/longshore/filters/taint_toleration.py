"""Nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes whose hard taints are all tolerated."""
    return arrays.tables.masks[arrays.classes.taint_mask[pod_class]]


FILTER = Filter(feasible, fixed("TaintToleration", "node(s) had untolerated taint(s)"))
