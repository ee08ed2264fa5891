"""The node and GPU where fragmentation grows least: Fragmentation Gradient Descent (USENIX ATC'23).

score = ⌊100·sigmoid((F before - F after) / 1000)⌋, where F is the expected milli-GPU of the node that typical pods
could not use (`core.fragmentation`). A share of a GPU is tried on every device that fits; the device with the best
score takes it, the first of equals. Whole GPUs are taken in order, the first idle ones.

No exponential is computed: the score is at least k where the difference is at least 1000·ln(k / (100 - k)). F is exact,
so NumPy and JAX agree to the last bit, which the cut to integers needs: most scores are ties.
"""

import math

import numpy as np

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.fragmentation import node_fragment
from longshore.core.ops import Array, namespace
from longshore.core.power import cpu_millis_left
from longshore.policies.heuristics.amounts import cpu_millis_wanted
from longshore.policies.heuristics.base import Heuristic

_STEPS = np.array([1000 * math.log(k / (100 - k)) for k in range(1, 100)])
"""The smallest difference F before - F after that earns each score from 1 to 99."""


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..99."""
    return _scores(arrays, pod_class, _choices(arrays, pod_class)).max(axis=0)


def devices(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return the milli that the pod takes from every device [nodes, devices], where its score is best."""
    xp = namespace(arrays.state.gpu_used)
    choices = _choices(arrays, pod_class)
    best = xp.argmax(_scores(arrays, pod_class, choices), axis=0)
    return xp.take_along_axis(choices, best[None, :, None], axis=0)[0]


def _choices(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return what the pod could take [choices, nodes, devices]: device d in choice d if a share, else the same."""
    xp = namespace(arrays.state.gpu_used)
    num_devices = arrays.state.gpu_used.shape[1]
    in_order = gpu.best_fit(arrays, pod_class)
    if num_devices == 0:
        return in_order[None]
    one_device = xp.eye(num_devices, dtype=xp.int64)[:, None, :] * arrays.classes.gpu_milli[pod_class]
    return xp.where(_is_share(arrays, pod_class), one_device, in_order)


def _scores(arrays: ClusterArrays, pod_class: Array, choices: Array) -> Array:
    """Return int64 [choices, nodes]; -1 where the device has too little left."""
    xp = namespace(choices)
    free = gpu.free_milli(arrays)
    left_over = free - choices
    cpu_left = cpu_millis_left(arrays) - cpu_millis_wanted(arrays, pod_class)
    gain = node_fragment(arrays) - node_fragment(arrays, left_over, cpu_left)
    scores = xp.searchsorted(xp.asarray(_STEPS), gain, side="right").astype(xp.int64)
    return xp.where((left_over >= 0).all(axis=2), scores, -1)


def _is_share(arrays: ClusterArrays, pod_class: Array) -> Array:
    milli, count = arrays.classes.gpu_milli[pod_class], arrays.classes.gpu_count[pod_class]
    return (count == 1) & (milli > 0) & (milli < gpu.WHOLE_GPU_MILLI)


HEURISTIC = Heuristic(score=score, devices=devices)
