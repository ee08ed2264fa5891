"""Watts from arrays: what nodes draw by their own curve, what one more pod would add, and PWR's model of GPU nodes.

A node's curve holds its watts at even steps of CPU use (requested by allocatable, cut to 0..1), linear between them:
two points are the linear model, more are a measured curve. A node that no pod keeps on draws what its curve says, or
nothing where such nodes are switched off. Padding rows draw nothing. The objectives `watts` and `carbon` and the
heuristic `low-power` read this file.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.gpu import WHOLE_GPU_MILLI, Take
from longshore.core.arrays.ops import Array, namespace, pick
from longshore.core.words.resources import CORE_RESOURCES, CPU

CPU_COLUMN = CORE_RESOURCES.index(CPU)

# PWR (CCGrid'25): vCPUs come two to a core, cores sixteen to a socket.
MILLIS_PER_CORE = 2000
CORES_PER_SOCKET = 16
MILLIS_PER_SOCKET = MILLIS_PER_CORE * CORES_PER_SOCKET
SOCKET_IDLE_WATTS = 15.0
SOCKET_ACTIVE_WATTS = 120.0


class DeviceWatts(NamedTuple):
    """What one GPU draws."""

    idle: float
    full: float


PWR_DEVICE_WATTS: Mapping[str, DeviceWatts] = MappingProxyType(
    {
        "T4": DeviceWatts(10.0, 70.0),
        "A10": DeviceWatts(30.0, 150.0),
        "G2": DeviceWatts(30.0, 150.0),
        "P100": DeviceWatts(25.0, 250.0),
        "V100": DeviceWatts(30.0, 300.0),
        "V100M16": DeviceWatts(30.0, 300.0),
        "V100M32": DeviceWatts(30.0, 300.0),
        "A100": DeviceWatts(50.0, 400.0),
        "G3": DeviceWatts(50.0, 400.0),
    }
)
"""PWR's figures by GPU model. The names are those of the public GPU trace that it was measured on, where G2 and G3 are
not told."""


OTHER_DEVICE_WATTS = DeviceWatts(30.0, 250.0)
"""Of a GPU of any other model, or of none that is told: middling ones of the above."""


def use_ratio(requested: Array, allocatable: Array) -> Array:
    """Return requested by allocatable as float64, 0 where nothing is allocatable; overcommit gives more than 1."""
    xp = namespace(allocatable)
    has_any = allocatable > 0
    return xp.where(has_any, requested / xp.where(has_any, allocatable, 1), 0.0)


def cpu_millis_left(arrays: ClusterArrays) -> Array:
    """Return the CPU that no pod has asked for, int64 [nodes]; below 0 on an over-committed node."""
    return arrays.nodes.allocatable[:, CPU_COLUMN] - arrays.state.requested[:, CPU_COLUMN]


def watts_at(power_curve: Array, cpu_ratio: Array) -> Array:
    """Read every node's curve [nodes, points] at its CPU use [nodes]."""
    xp = namespace(power_curve)
    steps = power_curve.shape[1] - 1
    if steps == 0:
        return power_curve[:, 0]
    position = xp.minimum(xp.maximum(cpu_ratio, 0.0), 1.0) * steps
    # Full use is the end of the last step, not the start of one more.
    lower = xp.minimum(position.astype(xp.int64), steps - 1)
    low, high = pick(power_curve, lower), pick(power_curve, lower + 1)
    return low + (high - low) * (position - lower)


def node_watts(arrays: ClusterArrays, switch_off_idle: bool = False) -> Array:
    """Return what every node draws now [nodes]."""
    nodes, state = arrays.nodes, arrays.state
    xp = namespace(state.requested)
    ratio = use_ratio(state.requested[:, CPU_COLUMN], nodes.allocatable[:, CPU_COLUMN])
    draws = is_on(arrays) if switch_off_idle else nodes.is_real
    return xp.where(draws, watts_at(nodes.power_curve, ratio), 0.0)


def cluster_watts(arrays: ClusterArrays, switch_off_idle: bool = False) -> Array:
    """Return what the whole cluster draws now."""
    return node_watts(arrays, switch_off_idle).sum()


def cluster_cost(arrays: ClusterArrays) -> Array:
    """Return what an hour of the nodes that are on costs."""
    xp = namespace(arrays.state.requested)
    return xp.where(is_on(arrays), arrays.nodes.cost_per_hour, 0.0).sum()


def added_watts(arrays: ClusterArrays, pod_class: Array, switch_off_idle: bool = False) -> Array:
    """Return the extra watts of the cluster if the pod went to each node [nodes].

    Where idle nodes are switched off, the first pod that keeps a node on also pays for switching it on. One that keeps
    none on adds nothing to a node that is off.
    """
    nodes, state = arrays.nodes, arrays.state
    xp = namespace(state.requested)
    requested = state.requested[:, CPU_COLUMN] + arrays.classes.request[pod_class, CPU_COLUMN]
    after = watts_at(nodes.power_curve, use_ratio(requested, nodes.allocatable[:, CPU_COLUMN]))
    adds = nodes.is_real
    if switch_off_idle:
        adds = adds & (is_on(arrays) | (arrays.classes.keeps_on[pod_class] > 0))
    return xp.where(adds, after - node_watts(arrays, switch_off_idle), 0.0)


def gpu_watts(gpu_model: str) -> DeviceWatts:
    """Return PWR's figures for a GPU model; those of a model that it does not name are `OTHER_DEVICE_WATTS`."""
    return PWR_DEVICE_WATTS.get(gpu_model, OTHER_DEVICE_WATTS)


def sockets(cpu_millis: Array) -> Array:
    """Return how many CPU sockets nodes of so much CPU have, by PWR's model."""
    return -(-_cores(cpu_millis) // CORES_PER_SOCKET)


def active_sockets(cpu_millis: Array, free_millis: Array) -> Array:
    """Return how many of them work. A core that is free in part works, and so does the last one of an odd capacity."""
    idle_cores = namespace(free_millis).maximum(free_millis, 0) // MILLIS_PER_CORE
    return -(-(_cores(cpu_millis) - idle_cores) // CORES_PER_SOCKET)


def _cores(cpu_millis: Array) -> Array:
    return -(-cpu_millis // MILLIS_PER_CORE)


def pwr_node_watts(arrays: ClusterArrays, take: Take | None = None, cpu_millis: Array = 0) -> Array:
    """Return what every node draws by PWR's model [nodes], in which no node is ever switched off.

    watts = Σ GPUs (idle if wholly free, else full) + 15·(idle sockets) + 120·(active sockets), with
    cores = ⌈vCPU / 2⌉, idle cores = ⌊free vCPU / 2⌋, sockets = ⌈cores / 16⌉, active = ⌈(cores - idle cores) / 16⌉.

    Args:
        arrays: the cluster.
        take: what a pod would take from the GPUs; None = as they are.
        cpu_millis: what it would take from the CPU.
    """
    nodes, state = arrays.nodes, arrays.state
    xp = namespace(state.requested)
    has_device = nodes.gpu_capacity > 0
    num_idle = (has_device & (nodes.gpu_capacity - state.gpu_used >= WHOLE_GPU_MILLI)).sum(axis=-1)
    if take is not None:
        num_idle = num_idle - xp.where(take.left >= WHOLE_GPU_MILLI, take.count, 0)
    num_busy = has_device.sum(axis=-1) - num_idle
    cpu = nodes.allocatable[:, CPU_COLUMN]
    active = active_sockets(cpu, cpu_millis_left(arrays) - cpu_millis)
    of_gpus = num_idle * nodes.gpu_watts[:, 0] + num_busy * nodes.gpu_watts[:, 1]
    of_sockets = (sockets(cpu) - active) * SOCKET_IDLE_WATTS + active * SOCKET_ACTIVE_WATTS
    return xp.where(nodes.is_real, of_gpus + of_sockets, 0.0)
