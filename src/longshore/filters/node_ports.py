"""Nodes where the pod's host ports are free."""

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.words.happening import Happening
from longshore.filters.base import Filter, Reach, fixed


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where no pod holds a conflicting port."""
    conflicts = arrays.classes.ports
    if conflicts.shape[1] == 0:
        return arrays.nodes.is_real
    # Query 0 pads the table and counts nothing, so padding never conflicts.
    held = arrays.state.counts[conflicts[pod_class]]
    return namespace(held).all(held == 0, axis=0)


def reach(classes: ClassArrays, pod_class: int) -> Reach:
    """Look at the pods on the node, for a pod that wants a host port."""
    return Reach.PODS if classes.ports[pod_class].any() else Reach.NODE


_EXPLAIN = fixed("NodePorts", "node(s) didn't have free ports for the requested pod ports", is_resolvable=True)
FILTER = Filter(feasible, _EXPLAIN, helped_by=Happening.POD_DELETED, reach=reach)
