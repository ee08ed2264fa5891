"""Cost: minus what the nodes that are on cost per hour, after the placement.

    reward = - Σ_{n on} cost per hour of n

A node is on if it runs a pod that keeps it from being removed.
"""

from dataclasses import dataclass
from typing import ClassVar

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import cluster_cost
from longshore.core.words.node import PRICE
from longshore.objectives.base import Transition, never_ends


@dataclass(frozen=True)
class Cost:
    """Reward for using few and cheap nodes."""

    rests_on: ClassVar[tuple[str, ...]] = (PRICE,)

    def reward(self, step: Transition) -> Array:
        """Return minus the cost of an hour, in the currency of the nodes' `cost_per_hour`."""
        return -cluster_cost(step.after)

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
