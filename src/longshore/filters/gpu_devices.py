"""Nodes with enough GPU devices of an accepted model, each with enough left."""

from collections.abc import Sequence

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Rejection
from longshore.filters.base import Filter

_WRONG_MODEL = Rejection("GpuDevices", ("node(s) didn't have the requested GPU model",), is_resolvable=False)
_TAKEN = Rejection("GpuDevices", ("Insufficient GPU devices",), is_resolvable=True)
_TOO_FEW = Rejection("GpuDevices", ("Insufficient GPU devices",), is_resolvable=False)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes whose devices can hold the pod."""
    if arrays.nodes.gpu_capacity.shape[1] == 0:
        return arrays.nodes.is_real & (arrays.classes.gpu_milli[pod_class] == 0)
    return gpu.fits(arrays, pod_class) & arrays.tables.masks[arrays.classes.gpu_model_mask[pod_class]]


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Tell a wrong model from devices that are taken."""
    arrays = encoded.arrays
    is_accepted = arrays.tables.masks[arrays.classes.gpu_model_mask[pod_class]]
    num_present = (arrays.nodes.gpu_capacity > 0).sum(axis=1)
    is_possible = num_present >= arrays.classes.gpu_count[pod_class]
    return [(_TAKEN if is_possible[node] else _TOO_FEW) if is_accepted[node] else _WRONG_MODEL for node in nodes]


FILTER = Filter(feasible, explain)
