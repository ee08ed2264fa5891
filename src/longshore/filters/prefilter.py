"""Nodes that affinity to `metadata.name` leaves over, decided before any other filter runs.

Upstream's PreFilter phase narrows the search to the named nodes; the others carry a status of the framework itself.
"""

from collections.abc import Sequence

from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.static import Demand, StaticPart, named_nodes
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import Happening
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import Filter, at_node

_ELSEWHERE = Rejection("", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_resolvable=False)
_CONFLICT = Rejection("NodeAffinity", ("pod affinity terms conflict",), is_resolvable=False)


def ask(spec: PodSpec, _objects: Objects) -> Demand | None:
    """Ask for one of the named nodes; for nothing where none is named."""
    names = named_nodes(spec)
    return None if names is None else Demand(names, lambda node, _labels: node.name in names)


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Tell conflicting names from names that are other nodes'."""
    return [_ELSEWHERE if named_nodes(encoded.specs[pod_class]) else _CONFLICT] * len(nodes)


_STATIC = StaticPart("PreFilter", ask)
FILTER = Filter(_STATIC.mask, explain, _STATIC, Happening.NODE_LABELS, at_node)
