"""Load balance (thesis): 10 for a least loaded node, -1 for a most loaded one, 0 between.

The load is that before the placement, over all nodes. Equally loaded nodes are alike: each of several least loaded
nodes gives 10, each of several most loaded ones -1; where all nodes are equal, all are least loaded and none is
wrong. `strict` (thesis, section 4.4) also ends the episode at -1; the rewards are the same.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import Measure, chose_least_loaded, chose_most_loaded


@dataclass(frozen=True)
class LoadBalance:
    """Reward for choosing the least loaded node."""

    measure: Measure = "pods"
    """What load is read from. `pods` is the thesis' own choice."""
    strict: bool = False
    """The thesis' rule: the episode ends when a most loaded node was chosen."""

    def reward(self, step: Transition) -> Array:
        """Return 10, 0 or -1."""
        xp = namespace(step.before.state.pod_count)
        otherwise = xp.where(chose_most_loaded(step, self.measure), -1.0, 0.0)
        return xp.where(chose_least_loaded(step, self.measure), 10.0, otherwise)

    def ends_episode(self, step: Transition) -> Array:
        """End after the worst choice if strict."""
        if not self.strict:
            return never_ends(step)
        return chose_most_loaded(step, self.measure) & ~chose_least_loaded(step, self.measure)
