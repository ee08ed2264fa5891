"""Prefer nodes whose CPU and memory use the pod brings closer together: NodeResourcesBalancedAllocation of 1.36.

balance = int((1 - std of the use ratios) · 100), in 50..100; score = 50 + (50 + balance with - balance without) / 2.
A pod without requests is not scored: it would change no balance.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace, ratio
from longshore.policies.plugins.base import MAX_SCORE, ScorePlugin

_HALF = MAX_SCORE // 2


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Score the change in balance."""
    xp = namespace(arrays.state.requested)
    request = arrays.classes.request[pod_class, :2]
    used, allocatable = arrays.state.requested[:, :2], arrays.nodes.allocatable[:, :2]
    change = _balance(used + request, allocatable) - _balance(used, allocatable)
    return xp.where((request != 0).any(), _HALF + (_HALF + change) // 2, 0)


def _balance(requested: Array, allocatable: Array) -> Array:
    xp = namespace(requested)
    has_both = (allocatable[:, 0] > 0) & (allocatable[:, 1] > 0)
    used = xp.minimum(ratio(requested, xp.maximum(allocatable, 1)), 1.0)
    deviation = xp.where(has_both, xp.abs((used[:, 0] - used[:, 1]) / 2), 0.0)
    return ((1 - deviation) * MAX_SCORE).astype(xp.int64)


PLUGIN = ScorePlugin(raw)
