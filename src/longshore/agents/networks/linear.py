"""Linear: one weight per feature, the same for every node. Small, quick, and easy to read."""

from dataclasses import dataclass
from typing import ClassVar

from longshore.agents.networks.base import Blueprint, Builder, Network, Sizes


@dataclass(frozen=True)
class Linear(Network):
    """A weighted sum of a node's features."""

    takes_dial: ClassVar[bool] = False
    """What a dial says is the same for every node, and adds the same to each."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network."""
        builder = Builder(sizes)
        rows = builder.start()
        return builder.finish(rows, builder.pool("mean_nodes", "mean", rows))
