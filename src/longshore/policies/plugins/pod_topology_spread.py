"""Prefer nodes in domains with few pods of the same kind: soft spread constraints, or the cluster's default ones.

raw = round(Σ over constraints of matching pods in the node's domain · ln(domains + 2) + max skew - 1); fewer is better:
score = 100 · (most + least - raw) / most. Nodes that lack one of the topology keys score 0, except under the default
constraints, which let a node without a zone take part.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.topology import eligible_nodes, matching_pods
from longshore.policies.plugins.base import MAX_SCORE, ScorePlugin


def raw(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Add up the weighted counts of all constraints."""
    terms = arrays.classes.soft_spread
    xp = namespace(arrays.state.counts)
    if terms.query.shape[1] == 0:
        return xp.zeros(feasible.shape, xp.int64)
    query = terms.query[pod_class]
    domain = arrays.nodes.domain[terms.key[pod_class]]
    has_all, scored = _scored(arrays, pod_class, feasible)
    counts = arrays.state.counts[query]
    # Under the default constraints a node without the key stands in the domain of the empty value.
    counted_domain = xp.maximum(domain, 1)
    eligible = eligible_nodes(arrays, pod_class, terms) & has_all
    is_hostname = terms.is_hostname[pod_class]
    matching, size = matching_pods(arrays, counts, counted_domain, eligible, scored, is_hostname)
    weight = arrays.tables.log_size[size + 2]
    applies = (query > 0)[:, None] & (domain > 0)
    total = xp.zeros(feasible.shape, xp.float64)
    for term in range(query.shape[0]):  # in upstream's order: float sums depend on it
        amount = matching[term] * weight[term] + (terms.max_skew[pod_class, term] - 1)
        total = total + xp.where(applies[term], amount, 0.0)
    whole = xp.floor(total)
    rounded = (whole + (total - whole >= 0.5)).astype(xp.int64)  # halves go up
    return xp.where(scored, rounded, 0)


def _scored(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> tuple[Array, Array]:
    """Return which nodes have all the keys that they need, and which of the feasible ones are scored."""
    terms = arrays.classes.soft_spread
    is_term = (terms.query[pod_class] > 0)[:, None]
    has_key = (arrays.nodes.domain[terms.key[pod_class]] > 0) | ~is_term
    has_all = has_key.all(axis=0) | arrays.classes.soft_is_default[pod_class]
    return has_all, feasible & has_all


def normalize(arrays: ClusterArrays, pod_class: Array, feasible: Array, amounts: Array) -> Array:
    """Turn few into high."""
    terms = arrays.classes.soft_spread
    xp = namespace(amounts)
    if terms.query.shape[1] == 0:
        return amounts
    _, scored = _scored(arrays, pod_class, feasible)
    least = xp.where(scored, amounts, xp.iinfo(xp.int64).max).min()
    most = xp.where(scored, amounts, 0).max()
    spread = MAX_SCORE * (most + xp.where(scored, least - amounts, 0)) // xp.maximum(most, 1)
    score = xp.where(most == 0, MAX_SCORE, spread)
    has_terms = (terms.query[pod_class] > 0).any()
    return xp.where(scored & has_terms, score, 0)


PLUGIN = ScorePlugin(raw, normalize)
