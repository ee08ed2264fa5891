"""MLP: all nodes in one vector, as the seeds' baselines have it. For one number of nodes, and their order matters."""

from dataclasses import dataclass

from longshore.agents.networks.base import Blueprint, Builder, Sizes


@dataclass(frozen=True)
class Mlp:
    """A fixed-size network."""

    width: int = 64
    """Units of each hidden layer."""
    layers: int = 2
    """Hidden layers."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network for `sizes.nodes` nodes."""
        builder = Builder(sizes)
        hidden = builder.flatten("flat", builder.start())
        for number in range(self.layers):
            hidden = builder.relu(f"hidden{number}", builder.linear(f"layer{number}", hidden, self.width))
        return builder.finish(hidden, hidden, nodes=sizes.nodes)
