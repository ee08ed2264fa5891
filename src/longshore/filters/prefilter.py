"""Nodes that affinity to `metadata.name` leaves over, decided before any other filter runs.

Upstream's PreFilter phase narrows the search to the named nodes; the others carry a status of the framework itself.
"""

from collections.abc import Sequence

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.static import named_nodes
from longshore.core.words.decision import Rejection
from longshore.filters.base import Filter

_ELSEWHERE = Rejection("", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_resolvable=False)
_CONFLICT = Rejection("NodeAffinity", ("pod affinity terms conflict",), is_resolvable=False)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow the named nodes, all where none is named."""
    return arrays.tables.masks[arrays.classes.prefilter_mask[pod_class]]


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Tell conflicting names from names that are other nodes'."""
    return [_ELSEWHERE if named_nodes(encoded.specs[pod_class]) else _CONFLICT] * len(nodes)


FILTER = Filter(feasible, explain)
