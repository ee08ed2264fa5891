"""Least connections (thesis' code): 1 for a node with the fewest TCP connections, else 0.

The readings are those before the placement. A node without a reading counts as the worst, so choosing it gives 0;
where no node has a reading, every choice gives 0 and none is wrong. `strict` ends the episode after a wrong choice.
"""

from dataclasses import dataclass

from longshore.core.arrays.ops import Array, namespace
from longshore.objectives.base import Transition, never_ends


@dataclass(frozen=True)
class LeastConnections:
    """Reward for choosing the node with the fewest connections."""

    strict: bool = False
    """The thesis' rule: the episode ends after a wrong choice."""

    def reward(self, step: Transition) -> Array:
        """Return 1 or 0."""
        xp = namespace(step.before.readings.connections)
        return xp.where(_chose_fewest(step), 1.0, 0.0)

    def ends_episode(self, step: Transition) -> Array:
        """End after a wrong choice if strict."""
        return _is_known(step).any() & ~_chose_fewest(step) if self.strict else never_ends(step)


def _is_known(step: Transition) -> Array:
    return step.before.readings.connections_known & step.before.nodes.is_real


def _chose_fewest(step: Transition) -> Array:
    known = _is_known(step)
    xp = namespace(known)
    connections = xp.where(known, step.before.readings.connections, xp.inf)
    return known[step.node] & (connections[step.node] <= connections.min())
