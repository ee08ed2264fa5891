"""One hidden layer, the same for every node."""

from dataclasses import dataclass

from longshore.agents.networks.base import Builder, Network


@dataclass(frozen=True)
class Narrow(Network):
    """A hidden layer between the features and the score."""

    width: int = 8
    """Units of the layer."""

    def build(self, sizes):
        """Return the network, as operations and the shapes of their tensors."""
        builder = Builder(sizes)
        hidden = builder.relu("hidden", builder.linear("first", builder.start(), self.width))
        return builder.finish(hidden, builder.pool("mean_nodes", "mean", hidden))
