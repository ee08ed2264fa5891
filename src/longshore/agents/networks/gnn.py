"""GNN: messages along what really connects nodes: zone, latency, the pods of one owner or service, the whole cluster.

    h' = relu(S h + Z mean over the zone + N mean over the near + A mean over the nodes with pods of the same app
              + C mean over all)

Near is what a node reaches quickly: others count by the latency that was measured from the node to their zone,
1 / (1 + ms / 5), those of its own zone 1. Where nothing was measured that is the mean over the zone. A node's load is
part of its row, so that it is part of every message.
"""

from dataclasses import dataclass
from typing import Annotated

from longshore.agents.networks.base import Blueprint, Builder, Network, Sizes
from longshore.agents.ranges import COUNT

RELATIONS = (("zone", "mean_zone"), ("near", "mean_near"), ("app", "mean_app"), ("all", "mean_nodes"))


@dataclass(frozen=True)
class Gnn(Network):
    """Message passing over zones, latencies between them, apps and the cluster."""

    width: Annotated[int, COUNT] = 32
    """Units of each layer."""
    rounds: Annotated[int, COUNT] = 2
    """Rounds of messages."""

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network."""
        builder = Builder(sizes)
        hidden = builder.relu("encoded", builder.linear("encode", builder.start(), self.width))
        for number in range(self.rounds):
            parts = [builder.linear(f"self{number}", hidden, self.width, gain=1.0)]
            for relation, kind in RELATIONS:
                message = builder.pool(kind, f"from_{relation}{number}", hidden)
                parts.append(builder.linear(f"{relation}{number}", message, self.width, gain=0.5))
            hidden = builder.relu(f"hidden{number}", builder.add(f"combined{number}", *parts))
        context = builder.concat(
            "summary",
            builder.pool("mean_nodes", "summary_mean", hidden),
            builder.pool("max_nodes", "summary_max", hidden),
        )
        return builder.finish(hidden, context)
