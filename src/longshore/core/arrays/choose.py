"""Choosing: the best score among feasible nodes, and what happens when several are best."""

from functools import partial

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, hash_uint32, namespace
from longshore.core.words.quantity import INT64_MAX

TIE_TOLERANCE = 1e-6


def choose(
    arrays: ClusterArrays,
    scores: Array,
    feasible: Array,
    *,
    has_random_ties: bool = False,
    may_defer: bool = False,
    tie_tolerance: float = TIE_TOLERANCE,
) -> Array:
    """Return the node with the best score, -1 if none is feasible or the pod is to wait.

    Scores within the tolerance of the best tie. Ties go to the lowest node name or, where the policy says so, to one of
    them at random by the state's seed and step, as upstream does. Scores of a policy that may defer say by how much a
    node is better than waiting: where all are below 0 the pod waits. No number at all is no reason to wait.
    """
    xp = namespace(feasible)
    if xp is np and not may_defer:
        worth = np.where(feasible, scores, -np.inf)
        best = np.maximum.reduce(worth, initial=-np.inf)
        if best > -np.inf:  # the usual case, in few calls; not so if any score is no number
            return _first_of_the_best(arrays, worth, best - tie_tolerance, has_random_ties)
    # A score that is no number counts as the worst: it must not win, and above all not let an infeasible node win.
    worth = xp.where(feasible & ~xp.isnan(scores), scores, -xp.inf)
    best = worth.max()
    tied = feasible & (worth >= best - tie_tolerance)
    order = arrays.nodes.name_rank.astype(xp.int64)
    if has_random_ties:
        order = hash_uint32(arrays.state.seed, arrays.state.step, arrays.nodes.name_rank).astype(xp.int64)
    node = xp.where(tied, order, INT64_MAX).argmin()
    is_placed = tied[node]  # where anything is feasible, something ties with the best
    if may_defer:
        is_placed = is_placed & ~((best < 0) & xp.isfinite(best))
    return xp.where(is_placed, node, -1)


def choose_two(
    arrays: ClusterArrays,
    scores: Array,
    feasible: Array,
    *,
    has_random_ties: bool = False,
    may_defer: bool = False,
    tie_tolerance: float = TIE_TOLERANCE,
) -> tuple[int, int]:
    """Return what `choose` returns, and what it would return without that node or, if it waits, without waiting.

    NumPy only.
    """
    if may_defer:
        pick = partial(choose, arrays, scores, has_random_ties=has_random_ties, tie_tolerance=tie_tolerance)
        node = int(pick(feasible, may_defer=True))
        return node, int(pick(feasible & (np.arange(len(feasible)) != node)))
    worth = np.where(feasible, scores, -np.inf)
    found: list[int] = []
    for _ in range(2):
        best = worth.max(initial=-np.inf)
        if best > -np.inf:
            node = _first_of_the_best(arrays, worth, best - tie_tolerance, has_random_ties)
        else:  # some score is no number, or no node is left
            allowed = feasible.copy()
            allowed[found] = False
            node = choose(arrays, scores, allowed, has_random_ties=has_random_ties, tie_tolerance=tie_tolerance)
        found.append(int(node))
        if node >= 0:
            worth[node] = -np.inf
    return found[0], found[1]


def _first_of_the_best(arrays: ClusterArrays, worth: Array, least: float, has_random_ties: bool) -> Array:
    nodes = (worth >= least).nonzero()[0]
    if len(nodes) == 1:
        return nodes[0]
    ranks = arrays.nodes.name_rank[nodes]
    if has_random_ties:
        ranks = hash_uint32(arrays.state.seed, arrays.state.step, ranks)
    return nodes[ranks.argmin()]
