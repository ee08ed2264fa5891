"""Nodes within the pod's hard latency limit (annotation `latencyHardConstraint`, milliseconds).

A node whose latency is not known is not within any limit: a hard promise cannot rest on a guess.
"""

from collections.abc import Sequence

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.decision import Rejection
from longshore.filters.base import Filter

_EXCEEDED = Rejection("LatencyLimit", ("node(s) exceeded the pod's hard latency limit",), is_resolvable=False)
_NOT_MEASURED = Rejection(
    "LatencyLimit", ("node(s) had no latency reading for the pod's hard limit",), is_resolvable=False
)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes at or below the limit."""
    xp = namespace(arrays.readings.latency_ms)
    limit = arrays.classes.latency_hard_ms[pod_class]
    return (arrays.readings.latency_known & (arrays.readings.latency_ms <= limit)) | xp.isinf(limit)


def explain(encoded: Encoded, _pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Tell a slow node from one that was not measured."""
    is_known = encoded.arrays.readings.latency_known
    return [_EXCEEDED if is_known[node] else _NOT_MEASURED for node in nodes]


FILTER = Filter(feasible, explain)
