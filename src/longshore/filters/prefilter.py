"""Nodes that affinity to `metadata.name` leaves over, decided before any other filter runs.

Upstream's PreFilter phase narrows the search to the named nodes; the others carry a status of the framework itself.
"""

from longshore.core.arrays import ClusterArrays
from longshore.core.decision import Rejection
from longshore.core.encode import Encoded
from longshore.core.ops import Array
from longshore.core.static import named_nodes
from longshore.filters.base import Filter


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow the named nodes, all where none is named."""
    return arrays.tables.masks[arrays.classes.prefilter_mask[pod_class]]


def explain(encoded: Encoded, pod_class: int, _node: int) -> Rejection:
    """Tell conflicting names from names that are other nodes'."""
    if named_nodes(encoded.specs[pod_class]):
        return Rejection("", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_resolvable=False)
    return Rejection("NodeAffinity", ("pod affinity terms conflict",), is_resolvable=False)


FILTER = Filter(feasible, explain)
