"""The node where the pod adds the fewest watts, alone or mixed with FGD: PWR (CCGrid'25).

Watts are by PWR's model of GPU nodes (`pwr_node_watts`), in which idle nodes stay on. score = -watts added, from the
most to the fewest over the feasible nodes as ⌊0..100⌋; a mix is share·that + (1000 - share)·FGD's score. The
GPU inside a node is the one that FGD takes.
"""

from collections.abc import Callable

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import pwr_node_watts
from longshore.policies.base import Policy
from longshore.policies.heuristics import fgd
from longshore.policies.heuristics.amounts import cpu_millis_wanted
from longshore.policies.heuristics.by_node import by_node

_BEYOND = 1e9


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [2, nodes]: FGD's score and minus the watts that the pod adds."""
    xp = namespace(arrays.state.gpu_used)
    after = pwr_node_watts(arrays, take, cpu_millis_wanted(arrays, pod_class))
    score = fgd.facts(arrays, pod_class, take)[0]
    return xp.stack([score, xp.broadcast_to(pwr_node_watts(arrays) - after, score.shape)])


def _rank(of_watts: int) -> Callable[[Array, Array, ClusterArrays], Array]:
    def rank(facts: Array, feasible: Array, _arrays: ClusterArrays) -> Array:
        xp = namespace(facts)
        score, saved = facts
        lowest = xp.where(feasible, saved, _BEYOND).min()
        highest = xp.where(feasible, saved, -_BEYOND).max()
        # Watts are multiples of 5: a hundredth part keeps the quotient clear of the next whole number.
        share = (100 * (saved - lowest) + 0.01) / xp.maximum(highest - lowest, 1.0)
        of_power = xp.where(highest > lowest, xp.floor(share), 0.0)
        return of_watts * of_power + (1000 - of_watts) * score

    return rank


def _mix(of_watts: int) -> Policy:
    return by_node(facts, _rank(of_watts), picks_device=True)


POLICY = _mix(1000)
HALF = _mix(500)
FIFTH = _mix(200)
