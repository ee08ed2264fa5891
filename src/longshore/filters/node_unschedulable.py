"""Nodes that are not cordoned, unless the pod tolerates that."""

from longshore.core.arrays.static import Demand, tolerates
from longshore.core.words.happening import Happening
from longshore.core.words.node import Taint
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import by_node

_TAINT = Taint("node.kubernetes.io/unschedulable")


def ask(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for a node that takes new pods."""
    if tolerates(spec.tolerations, _TAINT):
        return None
    return Demand("", lambda node, _labels: not node.is_unschedulable)


FILTER = by_node("NodeUnschedulable", ask, "node(s) were unschedulable", Happening.NODE_TAINTS)
