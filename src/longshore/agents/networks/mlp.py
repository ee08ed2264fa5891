"""MLP: all nodes in one vector, as the seeds' baselines have it. For one number of nodes, and their order matters."""

from dataclasses import dataclass
from typing import Annotated

from longshore.agents.networks.base import Blueprint, Builder, Network, Sizes
from longshore.agents.ranges import COUNT


@dataclass(frozen=True)
class Mlp(Network):
    """A fixed-size network."""

    width: Annotated[int, COUNT] = 64
    """Units of each hidden layer."""
    layers: Annotated[int, COUNT] = 2
    """Hidden layers."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network for `sizes.nodes` nodes."""
        builder = Builder(sizes)
        hidden = builder.flatten("flat", builder.start())
        for number in range(self.layers):
            hidden = builder.relu(f"hidden{number}", builder.linear(f"layer{number}", hidden, self.width))
        return builder.finish(hidden, hidden, nodes=sizes.nodes)
