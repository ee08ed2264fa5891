"""Linear: one weight per feature, the same for every node. Small, quick, and easy to read."""

from dataclasses import dataclass

from longshore.agents.networks.base import Blueprint, Builder, Sizes


@dataclass(frozen=True)
class Linear:
    """A weighted sum of a node's features."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network."""
        builder = Builder(sizes)
        rows = builder.start()
        return builder.finish(rows, builder.pool("mean_nodes", "mean", rows))
