"""Nodes with enough GPU devices of an accepted model, each with enough left."""

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.decision import Rejection
from longshore.core.encode import Encoded
from longshore.core.ops import Array
from longshore.filters.base import Filter


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes whose devices can hold the pod."""
    if arrays.nodes.gpu_capacity.shape[1] == 0:
        return arrays.nodes.is_real & (arrays.classes.gpu_milli[pod_class] == 0)
    return gpu.fits(arrays, pod_class) & arrays.tables.masks[arrays.classes.gpu_model_mask[pod_class]]


def explain(encoded: Encoded, pod_class: int, node: int) -> Rejection:
    """Tell a wrong model from devices that are taken."""
    arrays = encoded.arrays
    if not arrays.tables.masks[arrays.classes.gpu_model_mask[pod_class]][node]:
        return Rejection("GpuDevices", ("node(s) didn't have the requested GPU model",), is_resolvable=False)
    present = int((arrays.nodes.gpu_capacity[node] > 0).sum())
    is_possible = present >= int(arrays.classes.gpu_count[pod_class])
    return Rejection("GpuDevices", ("Insufficient GPU devices",), is_resolvable=is_possible)


FILTER = Filter(feasible, explain)
