"""Fill GPUs in use before opening free ones, and nodes in use before empty ones (FGD's GpuPacking).

Over the devices that the pod would take, those with the least left first:
- every GPU of the node is free: max(33 - free GPUs, free GPUs);
- the pod would open a free GPU: max(50 - opened GPUs, 33);
- else: max(100 - ⌊Σ percent left on the taken devices / 10⌋, 50).
A pod that wants no GPU scores 0 everywhere.
"""

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.ops import Array, namespace
from longshore.policies.heuristics.base import Heuristic


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..100."""
    capacity = arrays.nodes.gpu_capacity
    xp = namespace(capacity)
    left = gpu.free_milli(arrays)
    is_taken = gpu.best_fit(arrays, pod_class) > 0
    is_free = (capacity > 0) & (left == capacity)
    num_devices, num_free = (capacity > 0).sum(axis=1), is_free.sum(axis=1)
    num_opened = (is_taken & is_free).sum(axis=1)
    percent_left = xp.where(is_taken, left * 100 // gpu.WHOLE_GPU_MILLI, 0).sum(axis=1)
    packed = xp.where(
        num_free == num_devices,
        xp.maximum(33 - num_free, num_free),
        xp.where(num_opened > 0, xp.maximum(50 - num_opened, 33), xp.maximum(100 - percent_left // 10, 50)),
    )
    return xp.where(arrays.classes.gpu_milli[pod_class] > 0, packed, 0)


HEURISTIC = Heuristic(score=score)
