"""Nodes that are not known to be beyond the pod's hard latency limit (`longshore.dev/latency-hard-limit-ms`)."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.happening import Happening
from longshore.filters.base import Filter, at_node, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes at or below the limit, and those whose latency is not known."""
    xp = namespace(arrays.readings.latency_ms)
    limit = arrays.classes.latency_hard_ms[pod_class]
    return ~arrays.readings.latency_known | (arrays.readings.latency_ms <= limit) | xp.isinf(limit)


_EXPLAIN = fixed("LatencyLimit", "node(s) exceeded the pod's hard latency limit")
FILTER = Filter(feasible, _EXPLAIN, helped_by=Happening.NODE_LATENCY, reach=at_node)
