"""By kind of pod: a weighted sum of a node's features, with weights of their own for every kind of pod.

What makes a node good for a pod that wants no GPU says little about one that wants eight. Where weights of the
objective are given at run time, the sets of weights are mixed by them. It looks at one node at a time
(`policies.heuristics.by_node`), so that it is quick at any size.
"""

from dataclasses import dataclass
from typing import Annotated

from longshore.agents.networks.base import Blueprint, Builder, Network, Sizes
from longshore.agents.ranges import AMOUNT
from longshore.core.network.forward import LOAD, POD_KIND, PREFERENCE, ROWS, SCORE


@dataclass(frozen=True)
class Kinds(Network):
    """A weighted sum by kind of pod."""

    gain: Annotated[float, AMOUNT] = 1e-4
    """How large the weights are at the start, before anything is learnt."""
    by_load: bool = False
    """Weights that follow the cluster: for free and for used GPUs, and what is added where CPU is scarce."""

    @property
    def needs_gpus(self) -> bool:
        """Without GPUs their load is 0 throughout."""
        return self.by_load

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the network."""
        builder = Builder(sizes)
        mix = builder.outer("kind_and_load", POD_KIND, LOAD) if self.by_load else POD_KIND
        mix = builder.outer("mix", mix, PREFERENCE) if sizes.terms else mix
        score = builder.mixed(builder.unfinished, ROWS, mix, gain=self.gain, name=SCORE)
        return builder.finish_scored(score, builder.pool("mean_nodes", "mean", ROWS))
