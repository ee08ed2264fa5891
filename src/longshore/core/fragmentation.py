"""GPU fragmentation: how much of the free GPU share the typical pods could not use.

FGD (USENIX ATC'23). The fragment of node n for a typical pod m is all that is free on the node's GPUs if m wants no
GPU, may not use the node's GPU model, or does not fit (too few GPUs with enough left, or too little CPU); if m fits, it
is what is free on the GPUs that are too full for it. F_n = Σ_m share_m · fragment(n, m), in milli-GPU. Memory does not
count. The objective `fragmentation` and the heuristic `fgd` read this file.
"""

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.ops import Array, namespace
from longshore.core.power import cpu_millis_left

_SHARE_SCALE = 1 << 46
"""Shares count in steps of 2^-46, as integers: then F_n is exact, whatever the order in which a library adds. FGD's own
score cuts a difference of two F_n to an integer, where one rounding more or less would decide. With 64 free
devices (`node.MAX_DEVICES`) the sums reach 64000·2^46, which int64 still holds."""


def node_fragment(arrays: ClusterArrays, free_milli: Array = None, free_cpu_millis: Array = None) -> Array:
    """Return F_n of every node [..., nodes] in milli-GPU; 0 on padding rows.

    Args:
        arrays: the cluster with its typical pods.
        free_milli: what is left of every GPU [..., nodes, devices], if not as in the arrays: to ask "what if the pod
            went to device g", all devices at once along a leading axis.
        free_cpu_millis: what is left of every node's CPU [..., nodes], likewise; its leading axes broadcast.
    """
    nodes, tables = arrays.nodes, arrays.tables
    xp = namespace(arrays.state.gpu_used)
    free = xp.maximum(gpu.free_milli(arrays) if free_milli is None else free_milli, 0)
    cpu = cpu_millis_left(arrays) if free_cpu_millis is None else free_cpu_millis
    milli, count = tables.typical_gpu_milli[:, None], tables.typical_gpu_count[:, None]
    num_fitting = xp.zeros((tables.typical_share.shape[0], 1), xp.int64)
    too_full = num_fitting
    for device in range(free.shape[-1]):
        left = free[..., None, :, device]
        num_fitting = num_fitting + (left >= milli)
        too_full = too_full + xp.where(left < milli, left, 0)
    hosts = (milli > 0) & tables.typical_model_ok & (num_fitting >= count)
    hosts = hosts & (cpu[..., None, :] >= tables.typical_cpu_millis[:, None])
    fragment = xp.where(hosts, too_full, free.sum(axis=-1)[..., None, :])
    shares = xp.round(tables.typical_share * _SHARE_SCALE).astype(xp.int64)
    total = (fragment * shares[:, None]).sum(axis=-2)
    return xp.where(nodes.is_real, total / _SHARE_SCALE, 0.0)


def cluster_fragment(arrays: ClusterArrays) -> Array:
    """Return the expected milli-GPU of the whole cluster that are free and of no use."""
    return node_fragment(arrays).sum()
