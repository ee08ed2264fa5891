"""Empty nodes (after a Q-table scheduler): 1 for every node that is empty after the placement.

Empty means that no pod keeps it on: it has none, or DaemonSets' alone. With `threshold`, a node is empty when at
least that share of the resource is free: the original's own rule is 0.95 of memory. A node that has nothing of the
resource is then never empty.
"""

from dataclasses import dataclass

from longshore.core.arrays.cluster_arrays import is_on
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import use_ratio
from longshore.core.words.errors import InputError
from longshore.objectives.base import Transition, never_ends
from longshore.objectives.load import Resource, allocatable, requested


@dataclass(frozen=True)
class EmptyNodes:
    """Reward for nodes that could be switched off."""

    threshold: float | None = None
    """The free share from which a node counts as empty, above 0 and up to 1; None = no pod keeps it on."""
    resource: Resource = "memory"
    """What the threshold is about; the original's clusters had memory only."""

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0.0 < self.threshold <= 1.0:
            raise InputError(
                f"objective `empty-nodes`: got threshold `{self.threshold}`, expected more than 0 and at most 1",
                "0.95 counts nodes of which 95 % is free",
            )

    def reward(self, step: Transition) -> Array:
        """Return the number of empty nodes."""
        arrays = step.after
        xp = namespace(arrays.state.pod_count)
        if self.threshold is None:
            is_empty = ~is_on(arrays)
        else:
            have = allocatable(arrays, self.resource)
            is_empty = use_ratio(have - requested(arrays, self.resource), have) >= self.threshold
        return (arrays.nodes.is_real & is_empty).sum().astype(xp.float64)

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)
