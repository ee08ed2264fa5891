"""Counting pods by topology domain: what spreading and pod affinity share."""

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays, SpreadTerms
from longshore.core.arrays.ops import Array, namespace, segment_sum


def domain_sums(arrays: ClusterArrays, values: Array, domain: Array) -> Array:
    """Sum `values` [terms, nodes] over each node's domain, back to [terms, nodes]; 0 where the node lacks the key."""
    if namespace(values) is np:
        # Row by row: there are few, and NumPy takes half the time for each that it takes for all at once.
        sums = np.empty(values.shape, values.dtype)
        for row, amounts, domains in zip(sums, values, domain, strict=True):
            row[...] = sums_of_domains(amounts, domains)
        return sums
    table = segment_sum(values * (domain > 0), domain, _num_domains(arrays))
    return namespace(table).take_along_axis(table, domain, axis=1) * (domain > 0)


def sums_of_domains(values: Array, domain: Array) -> Array:
    """Return the same for one term, in NumPy: [nodes] -> [nodes] float64, which is exact for counts."""
    table = np.bincount(domain, weights=values)
    table[0] = 0
    return table[domain]


def domain_table(arrays: ClusterArrays, values: Array, domain: Array, eligible: Array) -> tuple[Array, Array]:
    """Sum `values` and count nodes over eligible nodes, per domain: two tables [terms, domains]."""
    return domain_totals(arrays, values, domain, eligible), domain_sizes(arrays, domain, eligible)


def domain_totals(arrays: ClusterArrays, values: Array, domain: Array, eligible: Array) -> Array:
    """Sum `values` over eligible nodes, per domain [terms, domains]."""
    return segment_sum(values * (eligible & (domain > 0)), domain, _num_domains(arrays))


def matching_pods(
    arrays: ClusterArrays, counts: Array, domain: Array, eligible: Array, scored: Array, is_hostname: Array
) -> tuple[Array, Array]:
    """Return for soft spread terms the pods in every node's domain [terms, nodes], and how many domains there are.

    Args:
        arrays: the cluster.
        counts: of the terms' pods [terms, nodes].
        domain: of every node [terms, nodes].
        eligible: nodes whose pods count [terms, nodes].
        scored: nodes whose domains count [nodes].
        is_hostname: every node is a domain of its own, without a sum [terms].
    """
    xp = namespace(counts)
    if xp is np:
        # Term by term: most classes spread over host names, which need no sum, and one other key.
        found, sizes = np.empty(counts.shape), np.empty(len(counts), np.int64)
        for term, own in enumerate(is_hostname.tolist()):
            if own:
                found[term], sizes[term] = counts[term], scored.sum()
            else:
                row = domain[term]
                found[term] = np.bincount(row, weights=counts[term] * (eligible[term] & (row > 0)))[row]
                sizes[term] = (np.bincount(row[scored & (row > 0)]) > 0).sum()
        return found, sizes
    in_domain = domain_totals(arrays, counts, domain, eligible)
    candidates = domain_sizes(arrays, domain, xp.broadcast_to(scored, domain.shape))
    matching = xp.where(is_hostname[:, None], counts, xp.take_along_axis(in_domain, domain, axis=1))
    return matching, xp.where(is_hostname, scored.sum(), (candidates > 0).sum(axis=1))


def domain_sizes(arrays: ClusterArrays, domain: Array, eligible: Array) -> Array:
    """Count eligible nodes, per domain [terms, domains]."""
    counted = (eligible & (domain > 0)).astype(arrays.state.counts.dtype)
    return segment_sum(counted, domain, _num_domains(arrays))


def eligible_nodes(arrays: ClusterArrays, pod_class: Array, terms: SpreadTerms) -> Array:
    """Say which nodes a spread constraint counts, by its node affinity and taint policies [terms, nodes]."""
    masks = arrays.tables.masks
    return masks[terms.affinity_mask[pod_class]] & masks[terms.taint_mask[pod_class]] & arrays.nodes.is_real


def _num_domains(arrays: ClusterArrays) -> int:
    # 0 = no key, 1 = the empty value, then at most one domain per node: static, so that JAX compiles once.
    return int(arrays.nodes.domain.shape[1]) + 2
