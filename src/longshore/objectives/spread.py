"""Spread: minus the use of the highest-utilised node after the placement.

    reward = - max_n max(CPU ratio, memory ratio)

The makespan of balancing: it only improves by keeping the worst node low.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import used_ratio


@dataclass(frozen=True)
class Spread:
    """Reward for a low peak."""

    def reward(self, step: Transition) -> Array:
        """Return -1 to 0, less with overcommit."""
        xp = namespace(step.after.state.requested)
        return -xp.maximum(used_ratio(step.after, "cpu"), used_ratio(step.after, "memory")).max()

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
