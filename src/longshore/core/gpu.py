"""GPU devices inside a node: which ones a pod would take, on every node at once."""

import numpy as np

from longshore.core.arrays import ClusterArrays
from longshore.core.ops import Array, namespace

WHOLE_GPU_MILLI = 1000
_FULL = 1 << 30


def free_milli(arrays: ClusterArrays) -> Array:
    """Return what is left of every device [nodes, devices]."""
    return arrays.nodes.gpu_capacity - arrays.state.gpu_used


def fits(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Say where enough devices have enough left [nodes]; true everywhere for a pod that wants none."""
    milli, count = arrays.classes.gpu_milli[pod_class], arrays.classes.gpu_count[pod_class]
    free = free_milli(arrays)
    usable = (free >= milli) & (arrays.nodes.gpu_capacity > 0)
    return (usable.sum(axis=1) >= count) | (milli == 0)


def best_fit(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return the milli that the pod takes from every device [nodes, devices] if it takes the fullest that fit.

    A share goes to the device with the least left over; whole devices are taken in order. Nodes that cannot hold the
    pod get what fits; the filter keeps such nodes away.
    """
    milli, count = arrays.classes.gpu_milli[pod_class], arrays.classes.gpu_count[pod_class]
    return fullest_first(arrays.nodes.gpu_capacity, free_milli(arrays), milli, count)


def fullest_first(capacity: Array, free: Array, milli: Array, count: Array) -> Array:
    """Take `milli` from the `count` fullest devices that have so much left: `best_fit` on rows of devices."""
    xp = namespace(free)
    usable = (free >= milli) & (capacity > 0)
    return take_in_order(xp.where(usable, free, _FULL), usable, milli, count)


def take_in_order(preference: Array, usable: Array, milli: Array, count: Array) -> Array:
    """Take `milli` from the `count` usable devices with the lowest preference, the first of equals first."""
    xp = namespace(preference)
    if xp is np and not milli:
        return np.zeros(preference.shape, np.int64)  # most pods want no GPU
    devices = xp.arange(preference.shape[1])
    # The rank of a device = how many usable ones come before it. One device at a time: all pairs at once would fill
    # the memory, and XLA sorts short rows many times slower than it compares them.
    rank = xp.zeros(preference.shape, xp.int64)
    for device in range(preference.shape[1]):
        other = preference[:, device, None]
        is_before = (other < preference) | ((other == preference) & (device < devices))
        rank = rank + (is_before & usable[:, device, None])
    return xp.where(usable & (rank < count), milli, 0)
