"""How loaded nodes are: the measures that several objectives share.

Padding rows are neither on, nor unused, nor loaded.
"""

from typing import Literal

from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import use_ratio
from longshore.core.words.resources import CORE_RESOURCES, CPU, EPHEMERAL_STORAGE, MEMORY
from longshore.objectives.base import Transition

Measure = Literal["pods", "cpu", "memory", "disk"]
"""What a node's load is read from: the number of its pods, or requested by allocatable of one resource."""

Resource = Literal["cpu", "memory"]

_COLUMNS = {
    "cpu": CORE_RESOURCES.index(CPU),
    "memory": CORE_RESOURCES.index(MEMORY),
    "disk": CORE_RESOURCES.index(EPHEMERAL_STORAGE),
}


def requested(arrays: ClusterArrays, resource: str) -> Array:
    """Return what is requested of a resource (`cpu`, `memory`, `disk`) on every node [nodes]."""
    return arrays.state.requested[:, _COLUMNS[resource]]


def allocatable(arrays: ClusterArrays, resource: str) -> Array:
    """Return what pods may use of a resource on every node [nodes]."""
    return arrays.nodes.allocatable[:, _COLUMNS[resource]]


def used_ratio(arrays: ClusterArrays, resource: str) -> Array:
    """Return requested by allocatable [nodes] as float64; 0 where nothing is allocatable, and on padding rows."""
    xp = namespace(arrays.state.requested)
    ratio = use_ratio(requested(arrays, resource), allocatable(arrays, resource))
    return xp.where(arrays.nodes.is_real, ratio, 0.0)


def load(arrays: ClusterArrays, measure: Measure) -> Array:
    """Return the load of every node [nodes] as float64."""
    xp = namespace(arrays.state.pod_count)
    if measure == "pods":
        return arrays.state.pod_count.astype(xp.float64)
    return used_ratio(arrays, measure)


def has_pods(arrays: ClusterArrays) -> Array:
    """Say which nodes have any pod, whether or not it keeps them on: what the thesis counts [nodes]."""
    return arrays.nodes.is_real & (arrays.state.pod_count > 0)


def is_unused(arrays: ClusterArrays, measure: Measure, *, strict: bool) -> Array:
    """Say which nodes are off or, for a resource, have nothing of it requested [nodes].

    `strict` counts every pod, as the thesis does.
    """
    is_off = arrays.nodes.is_real & ~(has_pods(arrays) if strict else is_on(arrays))
    if measure == "pods":
        return is_off
    has_nothing = arrays.nodes.is_real & (requested(arrays, measure) == 0)
    return has_nothing if strict else is_off | has_nothing


def chose_most_loaded(step: Transition, measure: Measure) -> Array:
    """Say whether no node had more load than the chosen one, before the placement."""
    xp = namespace(step.before.state.pod_count)
    loads = load(step.before, measure)
    return loads[step.node] >= xp.where(step.before.nodes.is_real, loads, -xp.inf).max()


def chose_least_loaded(step: Transition, measure: Measure) -> Array:
    """Say whether no node had less load than the chosen one, before the placement."""
    xp = namespace(step.before.state.pod_count)
    loads = load(step.before, measure)
    return loads[step.node] <= xp.where(step.before.nodes.is_real, loads, xp.inf).min()


def num_nodes(arrays: ClusterArrays) -> Array:
    """Return the number of real nodes, at least 1 so that it can divide."""
    xp = namespace(arrays.nodes.is_real)
    return xp.maximum(arrays.nodes.is_real.sum(), 1)
