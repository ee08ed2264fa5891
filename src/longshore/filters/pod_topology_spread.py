"""Nodes where the pod keeps its hard topology spread constraints.

Per constraint: matching pods in the node's domain + 1 if the pod matches itself - fewest in any eligible domain <= max
skew. Eligible are nodes that have all the topology keys and, where the policies say so, match the pod's node affinity
and have no taint that it does not tolerate. With fewer domains than `minDomains` the fewest counts as 0.
"""

from collections.abc import Sequence

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.topology import domain_table, eligible_nodes
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import Happening
from longshore.core.words.quantity import INT64_MAX
from longshore.filters.base import Filter, Reach

_REASON = "node(s) didn't match pod topology spread constraints"
_SKEWED = Rejection("PodTopologySpread", (_REASON,), is_resolvable=True)
_NO_LABEL = Rejection("PodTopologySpread", (f"{_REASON} (missing required label)",), is_resolvable=False)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes that keep every constraint."""
    terms = arrays.classes.hard_spread
    if terms.query.shape[1] == 0:
        return arrays.nodes.is_real
    has_key, is_within = _judge(arrays, pod_class)
    return (has_key & is_within).all(axis=0)


def _judge(arrays: ClusterArrays, pod_class: Array) -> tuple[Array, Array]:
    """Return, per constraint and node, whether the node has the key and whether the skew is kept."""
    terms = arrays.classes.hard_spread
    xp = namespace(arrays.state.counts)
    query = terms.query[pod_class]
    is_term = (query > 0)[:, None]
    domain = arrays.nodes.domain[terms.key[pod_class]]
    has_key = (domain > 0) | ~is_term
    eligible = eligible_nodes(arrays, pod_class, terms) & has_key.all(axis=0) & is_term
    matching, present = domain_table(arrays, arrays.state.counts[query], domain, eligible)
    fewest = xp.where(present > 0, matching, INT64_MAX).min(axis=1)
    is_short = (present > 0).sum(axis=1) < terms.min_domains[pod_class]
    fewest = xp.where(is_short | (fewest == INT64_MAX), 0, fewest)
    here = xp.take_along_axis(matching, domain, axis=1)
    skew = here + terms.self_match[pod_class][:, None] - fewest[:, None]
    return has_key, (skew <= terms.max_skew[pod_class][:, None]) | ~is_term


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Say whether the first broken constraint lacks its label or exceeds its skew."""
    has_key, is_within = _judge(encoded.arrays, np.asarray(pod_class))
    first = np.argmin(has_key & is_within, axis=0)
    is_labelled = np.take_along_axis(has_key, first[None], axis=0)[0]
    return [_SKEWED if is_labelled[node] else _NO_LABEL for node in nodes]


def reach(classes: ClassArrays, pod_class: int) -> Reach:
    """Look at all nodes, for a pod with a hard constraint."""
    return Reach.OTHER_NODES if classes.hard_spread.query[pod_class].any() else Reach.NODE


_NODES = Happening.NODE_DELETED | Happening.NODE_LABELS | Happening.NODE_TAINTS
_PODS = Happening.POD_ADDED | Happening.POD_LABELS | Happening.POD_DELETED
FILTER = Filter(feasible, explain, helped_by=_NODES | _PODS, reach=reach)
