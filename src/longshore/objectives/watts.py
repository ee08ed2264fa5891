"""Power: minus the watts that the cluster draws after the placement.

    reward = - Σ_n curve_n(requested CPU / allocatable CPU)

The curve of each node is linear between its points: two points make the linear model, more a measured one. Nodes that
no pod keeps on draw nothing with `switch_off_idle`. Formulas: `core/arrays/power.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import cluster_watts
from longshore.core.words.node import POWER
from longshore.objectives.base import Transition, never_ends


@dataclass(frozen=True)
class Watts:
    """Reward for drawing little power."""

    rests_on: ClassVar[tuple[str, ...]] = (POWER,)

    switch_off_idle: bool = False
    """Nodes that no pod keeps on draw nothing. Off by default: few clusters switch their nodes off."""

    def reward(self, step: Transition) -> Array:
        """Return minus the cluster's watts."""
        return -cluster_watts(step.after, self.switch_off_idle)

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
