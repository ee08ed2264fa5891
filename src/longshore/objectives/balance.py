"""Balance (after a Q-table scheduler): the sum over nodes of used^0.5, which is largest when all nodes are used alike.

    reward = Σ_n used_n^exponent              used = requested / allocatable, after the placement

Any exponent between 0 and 1 rewards spreading. The original multiplied by 100; here a weight does that.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import Resource
from longshore.objectives.used_power import check_exponent, sum_of_powers


@dataclass(frozen=True)
class Balance:
    """Reward for equal use."""

    exponent: float = 0.5
    """0.5 is the original's."""
    resource: Resource = "memory"
    """The original's clusters had memory only."""

    def __post_init__(self) -> None:
        check_exponent("balance", self.exponent)

    def reward(self, step: Transition) -> Array:
        """Return 0 to the number of nodes."""
        return sum_of_powers(step.after, self.resource, self.exponent)

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
