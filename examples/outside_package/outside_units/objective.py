"""Headroom: the share of its memory that the chosen node keeps free."""

from dataclasses import dataclass

from longshore.objectives.base import never_ends

MEMORY = 1


@dataclass(frozen=True)
class Headroom:
    """Reward for room on the node."""

    scale: float = 1.0
    """What an empty node is worth."""

    def reward(self, step):
        """Return `scale` for an empty node, 0 for a full one."""
        have = step.after.nodes.allocatable[step.node, MEMORY]
        return self.scale * (1.0 - step.after.state.requested[step.node, MEMORY] / have.clip(1))

    def ends_episode(self, step):
        """End nothing."""
        return never_ends(step)
