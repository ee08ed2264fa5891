"""PWR's power model on plain arrays: what GPU nodes draw, given what is left of their GPUs and how much CPU is used.

    watts = Σ GPUs (idle if wholly free, else full) + 15 · idle sockets + 120 · active sockets
    cores = ⌈vCPU / 2⌉, idle cores = ⌊free vCPU / 2⌋, sockets = ⌈cores / 16⌉, active = ⌈(cores - idle cores) / 16⌉

PWR (CCGrid'25). `core/power.py` has its figures, and the same formula over `ClusterArrays`; this file serves code that
keeps its own arrays, such as the outside tables and their bounds.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from longshore.core.gpu import WHOLE_GPU_MILLI
from longshore.core.ops import Array, namespace
from longshore.core.power import (
    CORES_PER_SOCKET,
    MILLIS_PER_CORE,
    SOCKET_ACTIVE_WATTS,
    SOCKET_IDLE_WATTS,
    gpu_watts,
)

MILLIS_PER_SOCKET = MILLIS_PER_CORE * CORES_PER_SOCKET


class GpuWatts(NamedTuple):
    """What one GPU of every node draws."""

    idle: Array  # [nodes] float64
    full: Array  # [nodes] float64


def watts_of_models(models: Iterable[str]) -> GpuWatts:
    """Look the nodes' GPU models up; one that PWR does not name has the default of `core/power.py`."""
    found = [gpu_watts(model) for model in models]
    return GpuWatts(np.array([watts.idle for watts in found]), np.array([watts.full for watts in found]))


def sockets(cpu_millis: Array) -> Array:
    """Return how many CPU sockets nodes of so much CPU have."""
    cores = -(-cpu_millis // MILLIS_PER_CORE)
    return -(-cores // CORES_PER_SOCKET)


def active_sockets(cpu_millis: Array, used_cpu_millis: Array) -> Array:
    """Return how many of them work. A core that is free in part works, and so does the last one of an odd capacity."""
    xp = namespace(used_cpu_millis)
    idle_cores = xp.maximum(cpu_millis - used_cpu_millis, 0) // MILLIS_PER_CORE
    busy_cores = -(-cpu_millis // MILLIS_PER_CORE) - idle_cores
    return -(-busy_cores // CORES_PER_SOCKET)


def node_watts(
    free_milli: Array,
    is_device: Array,
    cpu_millis: Array,
    used_cpu_millis: Array,
    watts: GpuWatts,
    is_on: Array = None,
) -> Array:
    """Return what every node draws [..., nodes] float64.

    Args:
        free_milli: what is left of every GPU [..., nodes, devices].
        is_device: which places of the device axis are GPUs [nodes, devices]; the others draw nothing.
        cpu_millis: the nodes' CPU [nodes].
        used_cpu_millis: what pods have asked of it [..., nodes].
        watts: what one GPU of each node draws.
        is_on: nodes that draw power [..., nodes] bool, where those without pods are switched off; else all.
    """
    xp = namespace(free_milli)
    num_free = (is_device & (free_milli >= WHOLE_GPU_MILLI)).sum(axis=-1)
    num_busy = is_device.sum(axis=-1) - num_free
    active = active_sockets(cpu_millis, used_cpu_millis)
    of_gpus = num_free * xp.asarray(watts.idle) + num_busy * xp.asarray(watts.full)
    of_sockets = (sockets(cpu_millis) - active) * SOCKET_IDLE_WATTS + active * SOCKET_ACTIVE_WATTS
    drawn = of_gpus + of_sockets
    return drawn if is_on is None else xp.where(is_on, drawn, 0.0)
