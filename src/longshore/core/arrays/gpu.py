"""GPU devices inside a node: which ones a pod would take, on every node at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.pod import GpuRequest, Pod

WHOLE_GPU_MILLI = 1000
_FULL = 1 << 30


class Take(NamedTuple):
    """What a pod would take from the GPUs of every node: `milli` of each of `count` devices that have `left` free.

    A share is of one device, and whole ones are taken from devices that are wholly free: so all that are taken are
    alike. A pod that wants no GPU takes 0 of 0 devices.
    """

    left: Array  # [nodes] int64, before the pod; at least `milli`
    milli: Array  # [] or [nodes] int64
    count: Array  # [] or [nodes] int64

    @property
    def left_after(self) -> Array:
        """What the devices have left with the pod on them [nodes]."""
        return self.left - self.milli


def held(request: GpuRequest | None, devices: Sequence[int] | None, num_devices: int) -> Array:
    """Return what a pod holds of each of a node's devices [devices] int64 milli.

    Nothing where it is not known which devices those are, so that no room is made up.
    """
    milli = np.zeros(num_devices, np.int64)
    if request is not None and devices is not None:
        milli[[device for device in devices if device < num_devices]] = request.milli
    return milli


def free_milli(arrays: ClusterArrays) -> Array:
    """Return what is left of every device [nodes, devices]."""
    return arrays.nodes.gpu_capacity - arrays.state.gpu_used


def fits(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Say where enough devices have enough left [nodes]; true everywhere for a pod that wants none."""
    milli, count = wanted(arrays, pod_class)
    usable = (free_milli(arrays) >= milli[..., None]) & (arrays.nodes.gpu_capacity > 0)
    return (usable.sum(axis=1) >= count) | (milli == 0)


def wanted(arrays: ClusterArrays, pod_class: Array) -> tuple[Array, Array]:
    """Return the milli that the pod asks for of each device, and of how many: one pod for all nodes, or one each."""
    return arrays.classes.gpu_milli[pod_class], arrays.classes.gpu_count[pod_class]


def take_fullest(arrays: ClusterArrays, pod_class: Array) -> Take:
    """Return what `best_fit` takes, as a `Take`."""
    xp = namespace(arrays.state.gpu_used)
    milli, count = wanted(arrays, pod_class)
    free = free_milli(arrays)
    fits = (free >= milli[..., None]) & (arrays.nodes.gpu_capacity > 0)
    left = xp.where(fits, free, _FULL).min(axis=1, initial=_FULL)
    return Take(xp.where((left < _FULL) & (milli > 0), left, milli), milli, count)


def take_from_each(arrays: ClusterArrays, pod_class: Array) -> tuple[Take, Array]:
    """Return what a pod takes that wants a share, from each device in turn, and where it can [devices, nodes].

    A pod that wants whole devices, or none, takes the same whatever the device.
    """
    xp = namespace(arrays.state.gpu_used)
    milli, count = wanted(arrays, pod_class)
    is_share = (milli > 0) & (milli < WHOLE_GPU_MILLI)
    free = free_milli(arrays).T
    is_possible = ~is_share | (free >= milli)
    return Take(xp.where(is_share & is_possible, free, milli), milli, count), is_possible


def taken(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return the milli that the pod takes from every device [nodes, devices]: the first ones that have so much left."""
    usable = (free_milli(arrays) == take.left[..., None]) & (arrays.nodes.gpu_capacity > 0)
    return take_in_order(usable * 0, usable, *wanted(arrays, pod_class))


def best_fit(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return the milli that the pod takes from every device [nodes, devices] if it takes the fullest that fit.

    A share goes to the device with the least left over; whole devices are taken in order. Nodes that cannot hold the
    pod get what fits; the filter keeps such nodes away.
    """
    return fullest_first(arrays.nodes.gpu_capacity, free_milli(arrays), *wanted(arrays, pod_class))


def fullest_first(capacity: Array, free: Array, milli: Array, count: Array) -> Array:
    """Take `milli` from the `count` fullest devices that have so much left: `best_fit` on rows of devices."""
    xp = namespace(free)
    usable = (free >= milli[..., None]) & (capacity > 0)
    return take_in_order(xp.where(usable, free, _FULL), usable, milli, count)


def take_in_order(preference: Array, usable: Array, milli: Array, count: Array) -> Array:
    """Take `milli` from the `count` usable devices with the lowest preference, the first of equals first."""
    xp = namespace(preference)
    if xp is np and not milli.any():
        return np.zeros(preference.shape, np.int64)  # most pods want no GPU
    devices = xp.arange(preference.shape[1])
    # The rank of a device = how many usable ones come before it. One device at a time: all pairs at once would fill
    # the memory, and XLA sorts short rows many times slower than it compares them.
    rank = xp.zeros(preference.shape, xp.int64)
    for device in range(preference.shape[1]):
        other = preference[:, device, None]
        is_before = (other < preference) | ((other == preference) & (device < devices))
        rank = rank + (is_before & usable[:, device, None])
    return xp.where(usable & (rank < count[..., None]), milli[..., None], 0)


def book_devices(used: Array, capacity: Array, pods: Sequence[Pod]) -> list[Array]:
    """Give the pods of a node the devices that they say they hold, then the others those that fit best.

    What a pod says counts if the node has these devices, they are as many as it asks for, and none would be given away
    twice; otherwise the pod is one of the others, so that what it holds is never forgotten.

    Args:
        used: what is taken already; what the pods hold is added [devices].
        capacity: of the devices [devices].
        pods: those that hold GPUs; of those that do not say which, the first one chooses first.

    Returns:
        What every pod was given [devices].
    """
    given: list[Array | None] = []
    for pod in pods:
        devices = _named_devices(pod, capacity, used)
        given.append(devices)
        if devices is not None:
            used += devices
    for i, pod in enumerate(pods):
        if given[i] is None and pod.spec.gpu is not None:
            milli, count = np.int64(pod.spec.gpu.milli), np.int64(pod.spec.gpu.count)
            given[i] = fullest_first(capacity[None], (capacity - used)[None], milli, count)[0]
            used += given[i]
    return given


def _named_devices(pod: Pod, capacity: Array, used: Array) -> Array | None:
    wants, says = pod.spec.gpu, pod.gpu_devices
    if wants is None or says is None or not len(says) == len(set(says)) == wants.count:
        return None
    if not all(0 <= device < len(capacity) for device in says):
        return None
    devices = held(wants, says, len(used))
    return devices if (used + devices <= capacity).all() else None
