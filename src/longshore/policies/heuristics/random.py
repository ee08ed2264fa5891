"""Any feasible node, by the seed.

score = hash(seed, step, place of the node's name in the order of names), uniform over 2^32 values. A share of a GPU
goes to a random device that fits, as in the Random policy of FGD's tables; whole devices are taken in order.
"""

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, hash_uint32, namespace
from longshore.policies.base import Policy

_FIRST_DEVICE = 1 << 24
"""Devices are numbered from beyond all nodes, so that none is drawn with the number that drew its node."""


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..2^32-1."""
    nodes, state = arrays.nodes, arrays.state
    return hash_uint32(state.seed, state.step, nodes.name_rank).astype(namespace(nodes.name_rank).int64)


def devices(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return the milli that the pod takes from every device [nodes, devices]: a random fitting one for a share."""
    nodes, state, classes = arrays.nodes, arrays.state, arrays.classes
    xp = namespace(state.gpu_used)
    milli, count = classes.gpu_milli[pod_class], classes.gpu_count[pod_class]
    usable = (gpu.free_milli(arrays) >= milli) & (nodes.gpu_capacity > 0)
    num_devices = usable.shape[1]
    items = _FIRST_DEVICE + nodes.name_rank.astype(xp.int64)[:, None] * num_devices + xp.arange(num_devices)
    drawn = hash_uint32(state.seed, state.step, items).astype(xp.int64)
    preference = xp.where(milli < gpu.WHOLE_GPU_MILLI, drawn, 0)
    return gpu.take_in_order(preference, usable, milli, count)


POLICY = Policy(score=score, devices=devices, is_order_dependent=True)
