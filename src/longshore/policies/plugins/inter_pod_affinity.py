"""Prefer nodes near wanted pods and far from unwanted ones, by the wishes of the pod and of those already there.

raw = Σ over terms of weight · matching pods in the node's domain; a required affinity term of an existing pod that
matches counts 1. Scaled so that the least feasible node gets 0 and the most 100.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace, ratio
from longshore.core.arrays.topology import domain_sums
from longshore.policies.plugins.base import MAX_SCORE, ScorePlugin


def raw(arrays: ClusterArrays, pod_class: Array, _feasible: Array) -> Array:
    """Add the weights of all terms over the node's domains."""
    terms = arrays.classes.preferred
    xp = namespace(arrays.state.counts)
    if terms.query.shape[1] == 0:
        return xp.zeros(arrays.nodes.is_real.shape, xp.int64)
    domain = arrays.nodes.domain[terms.key[pod_class]]
    weighted = arrays.state.counts[terms.query[pod_class]] * arrays.classes.preferred_weight[pod_class][:, None]
    return domain_sums(arrays, weighted, domain).sum(axis=0)


def normalize(_arrays: ClusterArrays, _pod_class: Array, feasible: Array, weights: Array) -> Array:
    """Stretch what lies between the least and the most feasible node over 0..100."""
    xp = namespace(weights)
    # Infeasible nodes take a feasible one's weight, so that they set no limit (node 0's where none is feasible).
    weights = xp.where(feasible, weights, weights[xp.argmax(feasible)])
    least = weights.min()
    span = weights.max() - least
    share = ratio(weights - least, xp.maximum(span, 1))
    return xp.where(feasible & (span > 0), (MAX_SCORE * share).astype(xp.int64), 0)


PLUGIN = ScorePlugin(raw, normalize)
