"""What several heuristics read: shares of CPU and memory, GPU that is left, unknown readings."""

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import CPU_COLUMN
from longshore.core.words.resources import CORE_RESOURCES, MEMORY

MEMORY_COLUMN = CORE_RESOURCES.index(MEMORY)

# The largest node of the GPU trace that the GPU group was published with: its scores are scaled by these.
LARGEST_CPU_MILLIS = 128_000
LARGEST_GPU_MILLI = 8_000

WORST_READING = 1e18
"""Stands for a reading that is not known: worse than anything that can be measured, and still finite."""


def used_shares_after(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return requested / allocatable with the pod on the node, float64 [nodes, 2] for CPU and memory.

    What the node has none of counts as used up if it is asked for, and as unused if not.
    """
    columns = slice(CPU_COLUMN, MEMORY_COLUMN + 1)
    xp = namespace(arrays.state.requested)
    requested = arrays.state.requested[:, columns] + arrays.classes.request[pod_class, columns]
    allocatable = arrays.nodes.allocatable[:, columns]
    share = requested / xp.maximum(allocatable, 1)
    return xp.where(allocatable > 0, share, (requested > 0).astype(xp.float64))


def cpu_millis_wanted(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return the pod's CPU request, an int64 scalar."""
    return arrays.classes.request[pod_class, CPU_COLUMN]


def gpu_milli_left(arrays: ClusterArrays) -> Array:
    """Return what is left of all GPUs of a node together, int64 [nodes]."""
    return gpu.free_milli(arrays).sum(axis=1)


def gpu_milli_wanted(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return what the pod takes of all its GPUs together, an int64 scalar."""
    return arrays.classes.gpu_milli[pod_class] * arrays.classes.gpu_count[pod_class]


def divide_towards_zero(numerator: Array, denominator: int) -> Array:
    """Divide integers as Go does: the fraction is cut off, also below zero. The denominator is positive."""
    xp = namespace(numerator)
    return xp.sign(numerator) * (xp.abs(numerator) // denominator)


def known_or_worst(reading: Array, is_known: Array) -> Array:
    """Return the reading where it is known, else a value worse than any."""
    return namespace(reading).where(is_known, reading, WORST_READING)
