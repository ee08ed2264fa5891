"""Energy efficient (thesis): int(10 · unused / workers), the share of nodes without load.

    reward = ⌊10 · unused / workers⌋          after the placement

`unused` counts nodes that are off (no pod keeps them on) and, for `cpu`, `memory` and `disk`, those of which nothing is
requested. `strict` is the thesis' own rule (section 4.4): every pod counts, a DaemonSet's too, and a choice other than
the most loaded node gives 0 and ends the episode.
Most loaded is meant before the placement and among all nodes, also full ones; of several equally loaded nodes any is
right.

The thesis divides by N - 1, where its N counts the control plane beside the workers: that is the number of workers,
and so the number of nodes of a cluster that is imported without its control plane. Both variants divide by it.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import Measure, chose_most_loaded, is_unused, num_nodes


@dataclass(frozen=True)
class EnergyEfficient:
    """Reward for nodes that stay unused."""

    measure: Measure = "pods"
    """What counts as use. `pods` is the thesis' own choice."""
    strict: bool = False
    """The thesis' rule: 0 and the end of the episode unless the most loaded node was chosen."""

    def reward(self, step: Transition) -> Array:
        """Return 0 to 10 in whole numbers."""
        xp = namespace(step.after.state.pod_count)
        tenths = 10 * is_unused(step.after, self.measure, strict=self.strict).sum() // num_nodes(step.after)
        right = chose_most_loaded(step, self.measure) if self.strict else True
        return xp.where(right, tenths.astype(xp.float64), 0.0)

    def ends_episode(self, step: Transition) -> Array:
        """End after a wrong choice if strict."""
        return ~chose_most_loaded(step, self.measure) if self.strict else never_ends(step)
