"""Choosing: the best score among feasible nodes, and what happens when several are best."""

from longshore.core.arrays import ClusterArrays
from longshore.core.ops import Array, hash_uint32, namespace
from longshore.core.quantity import INT64_MAX

TIE_TOLERANCE = 1e-6


def choose(
    arrays: ClusterArrays, scores: Array, feasible: Array, *, has_random_ties: bool = False, may_defer: bool = False
) -> Array:
    """Return the node with the best score, -1 if none is feasible or the pod is to wait.

    Scores within 1e-6 of the best tie. Ties go to the lowest node name or, where the policy says so, to one of them at
    random by the state's seed and step, as upstream does. Scores of a policy that may defer say by how much a node is
    better than waiting: where all are below 0 the pod waits. No number at all is no reason to wait.
    """
    xp = namespace(feasible)
    # A score that is no number counts as the worst: it must not win, and above all not let an infeasible node win.
    worth = xp.where(feasible & ~xp.isnan(scores), scores, -xp.inf)
    best = worth.max()
    tied = feasible & (worth >= best - TIE_TOLERANCE)
    if has_random_ties:
        order = hash_uint32(arrays.state.seed, arrays.state.step, arrays.nodes.name_rank).astype(xp.int64)
    else:
        order = arrays.nodes.name_rank.astype(xp.int64)
    node = xp.argmin(xp.where(tied, order, INT64_MAX))
    is_placed = feasible.any()
    if may_defer:
        is_placed = is_placed & ~((best < 0) & xp.isfinite(best))
    return xp.where(is_placed, node, -1)
