"""Variance: minus the variance of the nodes' CPU ratio after the placement.

    reward = - (1/N) Σ_n (used_n - mean)²     used = requested CPU / allocatable CPU

It is 0 when all nodes are used alike, and never below -1/4 without overcommit.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import num_nodes, used_ratio


@dataclass(frozen=True)
class Variance:
    """Reward for an even CPU ratio."""

    def reward(self, step: Transition) -> Array:
        """Return minus the variance over the real nodes."""
        xp = namespace(step.after.state.requested)
        ratio, count = used_ratio(step.after, "cpu"), num_nodes(step.after)
        deviation = xp.where(step.after.nodes.is_real, ratio - ratio.sum() / count, 0.0)
        return -((deviation**2).sum() / count)

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
