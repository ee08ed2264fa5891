"""Cost: minus what the nodes that are on cost per hour, after the placement.

    reward = - Σ_{n on} cost per hour of n

A node is on if it has a pod.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import is_on


@dataclass(frozen=True)
class Cost:
    """Reward for using few and cheap nodes."""

    def reward(self, step: Transition) -> Array:
        """Return minus the cost of an hour, in the currency of the nodes' `cost_per_hour`."""
        xp = namespace(step.after.state.pod_count)
        return -xp.where(is_on(step.after), step.after.nodes.cost_per_hour, 0.0).sum()

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
