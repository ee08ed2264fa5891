"""NodeResourcesFit's three scoring strategies, in upstream's integer arithmetic.

For CPU and memory, each with weight 1: requested = what the node's pods ask for (with upstream's defaults for pods that
name nothing) + what the pod itself asks for. A resource of which the node has none is left out. Used by the heuristics
of the same names and by `kube-default`. Upstream: pkg/scheduler/framework/plugins/noderesources.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.plugins.base import MAX_SCORE

NUM_RESOURCES = 2
"""CPU and memory: upstream's default resources, and the first two columns of every resource array."""


def least_allocated_score(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return int64 [nodes]: the mean of ⌊100·(allocatable - requested) / allocatable⌋, rounded down; none below 0."""
    xp = namespace(arrays.state.nonzero_requested)
    requested, allocatable = requested_and_allocatable(arrays, pod_class)
    left = xp.maximum(allocatable - requested, 0)
    return _mean_of_present(left * MAX_SCORE // xp.maximum(allocatable, 1), allocatable)


def most_allocated_score(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return int64 [nodes]: the mean of ⌊100·requested / allocatable⌋, rounded down; at most 100 each."""
    requested, allocatable = requested_and_allocatable(arrays, pod_class)
    return _mean_of_present(_used_percent(requested, allocatable), allocatable)


def requested_to_capacity_ratio_score(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Return int64 [nodes] for the shape {0 %: 0, 100 %: 10}: the rounded mean of ⌊100·requested / allocatable⌋.

    Upstream's scale of 10 becomes 100, so that the shape maps every percentage to itself. Unlike the other strategies,
    a resource that scores 0 is left out of the mean, and the mean is rounded to the nearest, halves up.
    """
    xp = namespace(arrays.state.nonzero_requested)
    requested, allocatable = requested_and_allocatable(arrays, pod_class)
    percent = xp.where(allocatable > 0, _used_percent(requested, allocatable), 0)
    total, weight = percent.sum(axis=1), (percent > 0).sum(axis=1)
    return (2 * total + weight) // xp.maximum(2 * weight, 1)


def requested_and_allocatable(arrays: ClusterArrays, pod_class: Array) -> tuple[Array, Array]:
    """Return what would be asked for with the pod on the node, and what there is: two times int64 [nodes, 2]."""
    requested = arrays.state.nonzero_requested + arrays.classes.score_request[pod_class]
    return requested, arrays.nodes.allocatable[:, :NUM_RESOURCES]


def _used_percent(requested: Array, allocatable: Array) -> Array:
    xp = namespace(requested)
    return xp.minimum(requested, allocatable) * MAX_SCORE // xp.maximum(allocatable, 1)


def _mean_of_present(scores: Array, allocatable: Array) -> Array:
    xp = namespace(scores)
    present = allocatable > 0
    # Column by column: NumPy takes several times longer to add rows of two up.
    total = scores[:, 0] * present[:, 0] + scores[:, 1] * present[:, 1]
    return total // xp.where(present[:, 0] & present[:, 1], NUM_RESOURCES, 1)
