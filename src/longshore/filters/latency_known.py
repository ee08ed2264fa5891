"""Nodes whose latency is known, for a pod with a hard latency limit; part of `--on-missing-readings wait` alone."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.happening import Happening
from longshore.filters.base import Filter, at_node, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes that were measured; all, for a pod without a limit."""
    known = arrays.readings.latency_known
    return known | namespace(known).isinf(arrays.classes.latency_hard_ms[pod_class])


_EXPLAIN = fixed("LatencyKnown", "node(s) had no latency reading for the pod's hard limit")
FILTER = Filter(feasible, _EXPLAIN, helped_by=Happening.NODE_LATENCY, reach=at_node)
