"""Nodes where required pod affinity and anti-affinity hold, the pod's own and that of the pods already there."""

from collections.abc import Sequence

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays, Terms
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.topology import domain_sums
from longshore.core.words.decision import Rejection
from longshore.core.words.happening import Happening
from longshore.filters.base import Filter, Reach

_NAME = "InterPodAffinity"
_AFFINITY = Rejection(_NAME, ("node(s) didn't match pod affinity rules",), is_resolvable=False)
_ANTI_AFFINITY = Rejection(_NAME, ("node(s) didn't match pod anti-affinity rules",), is_resolvable=True)
_REPELLED = Rejection(_NAME, ("node(s) didn't satisfy existing pods anti-affinity rules",), is_resolvable=True)


def feasible(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Allow nodes where all three kinds hold."""
    classes, allowed = arrays.classes, arrays.nodes.is_real
    if classes.affinity.query.shape[1]:
        allowed = allowed & _affinity_holds(arrays, pod_class)
    if classes.anti_affinity.query.shape[1]:
        allowed = allowed & ~_finds(arrays, classes.anti_affinity, pod_class)
    if classes.repelled_by.query.shape[1]:
        allowed = allowed & ~_finds(arrays, classes.repelled_by, pod_class)
    return allowed


def _affinity_holds(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Every term's domain holds a pod that matches all terms.

    The first pod of a series that wants to be with its own kind has nobody to join: it may go wherever the keys exist.
    """
    terms = arrays.classes.affinity
    query = terms.query[pod_class]
    is_term = (query > 0)[:, None]
    domain = arrays.nodes.domain[terms.key[pod_class]]
    counts = domain_sums(arrays, arrays.state.counts[query], domain)
    has_keys = ((domain > 0) | ~is_term).all(axis=0)
    has_company = ((counts > 0) | ~is_term).all(axis=0)
    is_first = ~((counts > 0) & is_term).any() & arrays.classes.affinity_self[pod_class]
    return has_keys & (has_company | is_first)


def _finds(arrays: ClusterArrays, terms: Terms, pod_class: Array) -> Array:
    """Say where a term's domain holds a pod that the term is about."""
    query = terms.query[pod_class]
    domain = arrays.nodes.domain[terms.key[pod_class]]
    return (domain_sums(arrays, arrays.state.counts[query], domain) > 0).any(axis=0)


def explain(encoded: Encoded, pod_class: int, nodes: Sequence[int]) -> list[Rejection]:
    """Name the first kind that is broken, in upstream's order."""
    arrays, classes, index = encoded.arrays, encoded.arrays.classes, np.asarray(pod_class)
    holds, is_own = arrays.nodes.is_real, ~arrays.nodes.is_real
    if classes.affinity.query.shape[1]:
        holds = _affinity_holds(arrays, index)
    if classes.anti_affinity.query.shape[1]:
        is_own = _finds(arrays, classes.anti_affinity, index)
    return [(_ANTI_AFFINITY if is_own[node] else _REPELLED) if holds[node] else _AFFINITY for node in nodes]


def reach(classes: ClassArrays, pod_class: int) -> Reach:
    """Look at all nodes, for a pod that has a term or that one is about."""
    kinds = (classes.affinity, classes.anti_affinity, classes.repelled_by)
    return Reach.OTHER_NODES if any(terms.query[pod_class].any() for terms in kinds) else Reach.NODE


_PODS = Happening.POD_ADDED | Happening.POD_LABELS | Happening.POD_DELETED
FILTER = Filter(feasible, explain, helped_by=Happening.NODE_LABELS | _PODS | Happening.CONTEXT, reach=reach)
