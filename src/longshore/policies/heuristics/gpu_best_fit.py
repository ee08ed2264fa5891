"""The node with the least CPU and GPU left over after the placement (FGD's BestFit).

raw = trunc(100·(1 - (CPU left - CPU asked) / 128000 / 2 - (GPU left - GPU asked) / 8000 / 2)) in thousandths of a CPU
and of a GPU, all GPUs of a node together; score = ⌊100·(raw - lowest) / (highest - lowest)⌋ over the feasible nodes, 0
if all are equal. A share of a GPU goes to the device with the least left that fits.

Computed in integers, over the common denominator 2560; so the result does not depend on rounding.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import cpu_millis_left
from longshore.policies.heuristics import amounts
from longshore.policies.heuristics.amounts import LARGEST_CPU_MILLIS, LARGEST_GPU_MILLI
from longshore.policies.heuristics.by_node import by_node

_GPU_FACTOR = LARGEST_CPU_MILLIS // LARGEST_GPU_MILLI
_DENOMINATOR = LARGEST_CPU_MILLIS // 50
_BEYOND = 1 << 40


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]: the raw score, whole numbers."""
    of_cpu = cpu_millis_left(arrays) - amounts.cpu_millis_wanted(arrays, pod_class)
    of_gpu = amounts.gpu_milli_left(arrays) - take.count * take.milli
    raw = amounts.divide_towards_zero(100 * _DENOMINATOR - of_cpu - _GPU_FACTOR * of_gpu, _DENOMINATOR)
    return raw.astype(float)[None]


def rank(facts: Array, feasible: Array, _arrays: ClusterArrays) -> Array:
    """Return [nodes], whole numbers in 0..100 on feasible nodes."""
    xp = namespace(facts)
    raw = facts[0].astype(xp.int64)
    lowest = xp.where(feasible, raw, _BEYOND).min()
    highest = xp.where(feasible, raw, -_BEYOND).max()
    return xp.where(highest > lowest, 100 * (raw - lowest) // xp.maximum(highest - lowest, 1), 0)


POLICY = by_node(facts, rank)
