"""The node and GPU where fragmentation grows least: Fragmentation Gradient Descent (USENIX ATC'23).

score = ⌊100·sigmoid((F before - F after) / 1000)⌋, where F is the expected milli-GPU of the node that typical pods
could not use (`arrays.fragmentation`). A share of a GPU is tried on every device that fits; the device with the best
score takes it, the first of equals. Whole GPUs are taken in order, the first idle ones.

The cut to integers matters, since most scores are ties. So the exponential, in which NumPy and JAX differ by a bit,
only proposes a score: it is at least k where the difference is at least 1000·ln(k / (100 - k)), and F is exact.
"""

import math

import numpy as np

from longshore.core.arrays import fragmentation
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import cpu_millis_left
from longshore.policies.heuristics.amounts import cpu_millis_wanted, gpu_milli_left
from longshore.policies.heuristics.by_node import by_node

_LEAST_GAIN = np.array([-np.inf, *(1000 * math.log(k / (100 - k)) for k in range(1, 100)), np.inf])
"""The smallest difference F before - F after that earns each score."""


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]: whole numbers in 0..99."""
    cpu, idle = cpu_millis_left(arrays), gpu_milli_left(arrays)
    cpu_after, idle_after = cpu - cpu_millis_wanted(arrays, pod_class), idle - take.count * take.milli
    now = fragmentation.offers(arrays)
    before = fragmentation.fragment(arrays, now, idle, cpu)
    return score_of(before - fragmentation.fragment_after(arrays, now, take, idle_after, cpu_after))[None]


def score_of(gain: Array) -> Array:
    """Return the score of a fall of F, float64."""
    xp = namespace(gain)
    least = xp.asarray(_LEAST_GAIN)
    score = xp.minimum((100 / (1 + xp.exp(-gain / 1000))).astype(xp.int32), 99)
    score = score + (gain >= least[score + 1]) - (gain < least[score])
    return score.astype(xp.float64)


POLICY = by_node(facts, picks_device=True)
