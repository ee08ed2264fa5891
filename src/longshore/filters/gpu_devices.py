"""Nodes with enough GPU devices of an accepted model, each with enough left."""

from collections.abc import Sequence

import numpy as np

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.static import Demand, StaticPart
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import Happening
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import Filter, Reach

_WRONG_MODEL = Rejection("GpuDevices", ("node(s) didn't have the requested GPU model",), is_resolvable=False)
_TAKEN = Rejection("GpuDevices", ("Insufficient GPU devices",), is_resolvable=True)
_TOO_FEW = Rejection("GpuDevices", ("Insufficient GPU devices",), is_resolvable=False)


def ask(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for GPUs of a model that the pod accepts; of which ones are free, the arrays know."""
    models = spec.gpu.models if spec.gpu else ()
    return Demand(models, lambda node, _labels: node.gpu_model in models) if models else None


_MODEL = StaticPart("GpuDevices", ask)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes whose devices can hold the pod."""
    if arrays.nodes.gpu_capacity.shape[1] == 0:
        return arrays.nodes.is_real & (arrays.classes.gpu_milli[pod_class] == 0)
    return gpu.fits(arrays, pod_class) & _MODEL.mask(arrays, pod_class)


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Tell a wrong model from devices that are taken."""
    arrays = encoded.arrays
    is_accepted = _MODEL.mask(arrays, np.asarray(pod_class))
    num_present = (arrays.nodes.gpu_capacity > 0).sum(axis=1)
    is_possible = num_present >= arrays.classes.gpu_count[pod_class]
    return [(_TAKEN if is_possible[node] else _TOO_FEW) if is_accepted[node] else _WRONG_MODEL for node in nodes]


def reach(classes: ClassArrays, pod_class: int) -> Reach:
    """Look at the pods on the node, for a pod that wants a GPU."""
    return Reach.PODS if classes.gpu_milli[pod_class] else Reach.NODE


_CHANGES = Happening.NODE_LABELS | Happening.NODE_DEVICES | Happening.POD_DELETED
FILTER = Filter(feasible, explain, _MODEL, _CHANGES, reach)
