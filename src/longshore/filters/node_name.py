"""The node that the pod names itself (`spec.nodeName`)."""

from longshore.core.arrays.static import Demand
from longshore.core.words.happening import Happening
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import by_node


def ask(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for the named node; for nothing where none is named."""
    name = spec.node_name
    return Demand(name, lambda node, _labels: node.name == name) if name else None


FILTER = by_node("NodeName", ask, "node(s) didn't match the requested node name", Happening.NOTHING)
