"""Prefer nodes with few PreferNoSchedule taints that the pod does not tolerate."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.plugins.base import ScorePlugin, scale_to_max


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Count the soft taints that are not tolerated."""
    return arrays.tables.weights[arrays.classes.taint_weight[pod_class]]


def normalize(_arrays: ClusterArrays, _pod_class: Array, feasible: Array, counts: Array) -> Array:
    """Give 100 to none and 0 to the most."""
    return scale_to_max(counts, feasible, is_reversed=True)


PLUGIN = ScorePlugin(raw, normalize)
