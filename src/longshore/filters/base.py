"""What a filter is: arrays in, a mask over all nodes out, the reason in upstream's words, and what else it declares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.static import Ask, StaticPart
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import ANYTHING, Happening

Feasible = Callable[[ClusterArrays, Array], Array]
"""(arrays, pod class) -> [nodes] bool: where the class may go as far as this filter is concerned."""

Explain = Callable[[Encoded, int, Sequence[int]], list[Rejection]]
"""(encoded, pod class, nodes) -> why the filter rejects each of these nodes; only asked about nodes that it rejects,
and about one at least. The rejections carry the filter's name, by which the pod is woken later."""


class Reach(IntEnum):
    """How far a filter looks when it judges a node for pods of a class."""

    NODE = 0
    """At what the node is and what is measured on it."""
    PODS = 1
    """At the pods on it, too."""
    OTHER_NODES = 2


@dataclass(frozen=True)
class Filter:
    """One constraint."""

    feasible: Feasible
    explain: Explain
    static: StaticPart | None = None
    """What of it is compiled to a row for every class; named as the filter, and read by `static.mask`."""
    helped_by: Happening = ANYTHING
    """Which changes could make it accept a node that it rejected, beside nodes that are added: these always may."""
    reach: Callable[[ClassArrays, int], Reach] = lambda _classes, _pod_class: Reach.OTHER_NODES
    """(classes, pod class) -> how far it looks."""


def at_node(_classes: ClassArrays, _pod_class: int) -> Reach:
    """Look at what the node is alone, whatever the class."""
    return Reach.NODE


def by_node(name: str, ask: Ask, reason: str, helped_by: Happening = ANYTHING) -> Filter:
    """Return a filter whose whole word is what it asks of a node."""
    static = StaticPart(name, ask)
    return Filter(static.mask, fixed(name, reason), static, helped_by, at_node)


def fixed(name: str, reason: str, *, is_resolvable: bool = False) -> Explain:
    """Explain with one sentence, whatever the node."""
    rejection = Rejection(name, (reason,), is_resolvable)
    return lambda _encoded, _pod_class, nodes: [rejection] * len(nodes)
