"""Prefer nodes with the most left: upstream's NodeResourcesFit with its default strategy, LeastAllocated."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.plugins.allocation import least_allocated_score
from longshore.policies.plugins.base import ScorePlugin


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Score 0..100 by the free share of CPU and memory after the placement."""
    return least_allocated_score(arrays, pod_class)


PLUGIN = ScorePlugin(raw)
