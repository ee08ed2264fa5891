"""Waste of bin packing: minus the unused share of the nodes that are on, after the placement.

    reward = - ½ Σ_{CPU, memory} ( Σ_{n on} (allocatable - requested) / Σ_{n on} allocatable )

Nodes weigh by their capacity. With no node on, or none that has the resource, nothing is wasted.
"""

from dataclasses import dataclass

from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import use_ratio
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import allocatable, requested


@dataclass(frozen=True)
class Waste:
    """Reward for filling the nodes that are on."""

    def reward(self, step: Transition) -> Array:
        """Return -1 to 0."""
        return -(_unused_share(step.after, "cpu") + _unused_share(step.after, "memory")) / 2

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)


def _unused_share(arrays: ClusterArrays, resource: str) -> Array:
    xp = namespace(arrays.state.requested)
    have, on = allocatable(arrays, resource), is_on(arrays)
    # An overcommitted node wastes nothing; it must not make up for the waste of others either.
    unused = xp.maximum(have - requested(arrays, resource), 0)
    # As float64: the bytes of many large nodes together leave int64 with little room.
    total = xp.where(on, have, 0).astype(xp.float64).sum()
    return use_ratio(xp.where(on, unused, 0).astype(xp.float64).sum(), total)
