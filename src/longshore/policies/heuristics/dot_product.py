"""The node that is least like the pod: the smallest product of what is left and what is asked for (FGD's DotProd).

score = trunc(100·(1 - (CPU left·CPU asked / 128000² + GPU left·GPU asked / 8000²) / 2)) in thousandths of a CPU and of
a GPU, all GPUs of a node together. A share of a GPU goes to the device with the least left that fits.

Computed in integers, over the common denominator 128000² / 50; so the result does not depend on rounding.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import cpu_millis_left
from longshore.policies.heuristics import amounts
from longshore.policies.heuristics.amounts import LARGEST_CPU_MILLIS, LARGEST_GPU_MILLI
from longshore.policies.heuristics.by_node import by_node

_GPU_FACTOR = (LARGEST_CPU_MILLIS // LARGEST_GPU_MILLI) ** 2
_DENOMINATOR = LARGEST_CPU_MILLIS**2 // 50


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]: whole numbers, 100 for a product of zero."""
    of_cpu = cpu_millis_left(arrays) * amounts.cpu_millis_wanted(arrays, pod_class)
    of_gpu = amounts.gpu_milli_left(arrays) * amounts.gpu_milli_wanted(arrays, pod_class)
    score = amounts.divide_towards_zero(100 * _DENOMINATOR - of_cpu - _GPU_FACTOR * of_gpu, _DENOMINATOR)
    return score.astype(float)[None]


POLICY = by_node(facts)
