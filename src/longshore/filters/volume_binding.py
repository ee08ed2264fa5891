"""Nodes from which the pod's bound volumes can be used, by the volumes' node affinity.

Claims that are not bound yet are not modelled (`filters.unsupported`).
"""

from collections.abc import Mapping

from longshore.core.arrays.static import Demand, readable_terms, term_holds
from longshore.core.words.happening import Happening
from longshore.core.words.node import Node
from longshore.core.words.objects import Objects
from longshore.core.words.pod import PodSpec
from longshore.filters.base import by_node


def ask(spec: PodSpec, objects: Objects) -> Demand | None:
    """Ask for a node that every bound volume allows."""
    found = (volume.node_affinity for volume in objects.bound_volumes(spec))
    affinities = tuple(terms for terms in found if terms is not None)
    readable = [readable_terms(terms) for terms in affinities]

    def is_met(_node: Node, labels: Mapping[str, str]) -> bool:
        # Upstream asks with the labels alone: conditions on a node's name say nothing here.
        return all(any(term_holds(term, None, labels) for term in terms) for terms in readable)

    return Demand(affinities, is_met) if affinities else None


_CHANGES = Happening.NODE_LABELS | Happening.STORAGE
FILTER = by_node("VolumeBinding", ask, "node(s) didn't match PersistentVolume's node affinity", _CHANGES)
