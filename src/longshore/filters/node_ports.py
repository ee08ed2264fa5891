"""Nodes where the pod's host ports are free."""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.filters.base import Filter, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where no pod holds a conflicting port."""
    conflicts = arrays.classes.ports
    if conflicts.shape[1] == 0:
        return arrays.nodes.is_real
    # Query 0 pads the table and counts nothing, so padding never conflicts.
    held = arrays.state.counts[conflicts[pod_class]]
    return namespace(held).all(held == 0, axis=0)


FILTER = Filter(
    feasible, fixed("NodePorts", "node(s) didn't have free ports for the requested pod ports", is_resolvable=True)
)
