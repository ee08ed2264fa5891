"""Nodes from which the pod's bound volumes can be used, by the volumes' node affinity.

Claims that are not bound yet are not modelled (`filters.unsupported`).
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes that every bound volume allows."""
    return arrays.tables.masks[arrays.classes.volume_affinity_mask[pod_class]]


FILTER = Filter(feasible, fixed("VolumeBinding", "node(s) didn't match PersistentVolume's node affinity"))
