"""Fill GPUs in use before opening free ones, and nodes in use before empty ones (FGD's GpuPacking).

Over the devices that the pod would take, those with the least left first:
- every GPU of the node is free: max(33 - free GPUs, free GPUs);
- the pod would open a free GPU: max(50 - opened GPUs, 33);
- else: max(100 - ⌊Σ percent left on the taken devices / 10⌋, 50).
A pod that wants no GPU scores 0 everywhere.
"""

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.heuristics.by_node import by_node


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]: whole numbers in 0..100."""
    capacity = arrays.nodes.gpu_capacity
    xp = namespace(capacity)
    num_devices = (capacity > 0).sum(axis=1)
    num_free = ((capacity > 0) & (gpu.free_milli(arrays) == capacity)).sum(axis=1)
    num_opened = xp.where(take.left == gpu.WHOLE_GPU_MILLI, take.count, 0)
    percent_left = take.count * (take.left * 100 // gpu.WHOLE_GPU_MILLI)
    packed = xp.where(
        num_free == num_devices,
        xp.maximum(33 - num_free, num_free),
        xp.where(num_opened > 0, xp.maximum(50 - num_opened, 33), xp.maximum(100 - percent_left // 10, 50)),
    )
    return xp.where(take.milli > 0, packed, 0).astype(float)[None]


POLICY = by_node(facts)
