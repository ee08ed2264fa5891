"""Nodes in the zone and region of the pod's bound volumes."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where all volumes can be used."""
    return arrays.tables.masks[arrays.classes.volume_mask[pod_class]]


FILTER = Filter(feasible, fixed("VolumeZone", "node(s) had no available volume zone"))
