"""Prefer nodes that already have the pod's images, the larger the better."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.plugins.base import ScorePlugin


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Score 0..100; compiled per class, since images change with nodes only (`arrays.static`)."""
    return arrays.tables.weights[arrays.classes.image_weight[pod_class]]


PLUGIN = ScorePlugin(raw)
