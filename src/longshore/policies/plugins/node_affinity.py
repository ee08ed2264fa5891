"""Prefer nodes that match the pod's preferred node affinity, by its weights."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.plugins.base import ScorePlugin, scale_to_max


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Add the weights of the preferences that match."""
    return arrays.tables.weights[arrays.classes.affinity_weight[pod_class]]


def normalize(_arrays: ClusterArrays, _pod_class: Array, feasible: Array, weights: Array) -> Array:
    """Give 100 to the largest sum."""
    return scale_to_max(weights, feasible, is_reversed=False)


PLUGIN = ScorePlugin(raw, normalize)
