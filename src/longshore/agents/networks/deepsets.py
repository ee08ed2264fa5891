"""DeepSets: every node's row through the same layers, and a pool over all nodes as the context of each.

    h = relu(A x);  c = (mean over nodes of h, largest over nodes of h);  score = w · relu(B h + C c)

The scores follow the nodes when these are reordered, and the same tensors serve any number of them.
"""

from dataclasses import dataclass
from typing import Annotated

from longshore.agents.networks.base import Blueprint, Builder, Network, Sizes
from longshore.agents.ranges import COUNT


@dataclass(frozen=True)
class DeepSets(Network):
    """Shared layers per node, pooled context."""

    width: Annotated[int, COUNT] = 32
    """Units of each layer."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network."""
        builder = Builder(sizes)
        encoded = builder.relu("encoded", builder.linear("encode", builder.start(), self.width))
        pooled = builder.concat(
            "pooled",
            builder.pool("mean_nodes", "pooled_mean", encoded),
            builder.pool("max_nodes", "pooled_max", encoded),
        )
        # B h + C c in place of one layer over both: the pooled half is then worked out once and not for every node.
        own = builder.linear("own", encoded, self.width, gain=1.0)
        shared = builder.linear("shared", pooled, self.width, gain=1.0)
        hidden = builder.relu("hidden", builder.add("combined", own, shared))
        context = builder.concat(
            "summary",
            builder.pool("mean_nodes", "summary_mean", hidden),
            builder.pool("max_nodes", "summary_max", hidden),
        )
        return builder.finish(hidden, context)
