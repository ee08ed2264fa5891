"""What a heuristic is: a pure scoring function over all nodes at once, how it breaks ties, and whether it may wait."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longshore.core.arrays import gpu
from longshore.core.arrays.choose import TIE_TOLERANCE, choose
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array

if TYPE_CHECKING:
    from longshore.policies.heuristics.by_node import ByNode

Score = Callable[[ClusterArrays, Array, Array], Array]
"""(arrays, pod class, feasible [nodes]) -> [nodes]; higher is better. Scores of infeasible nodes are never read."""

Devices = Callable[[ClusterArrays, Array], Array]
"""(arrays, pod class) -> [nodes, devices]: the milli that the pod would take from every GPU of every node."""


@dataclass(frozen=True)
class Heuristic:
    """A rule for ranking nodes."""

    score: Score
    devices: Devices = gpu.best_fit
    has_random_ties: bool = False
    """Ties go to a random node by the state's seed, as upstream's do; else to the lowest name."""
    is_order_dependent: bool = False
    """The choice depends on node names or on history, so that renaming nodes may change it."""
    by_node: "ByNode | None" = None
    """The same rule as facts about single nodes, where it is one (`policies.heuristics.by_node`)."""
    tie_tolerance: float = TIE_TOLERANCE
    """Nodes whose scores are within this of the best tie."""
    may_defer: bool = False
    """Scores say by how much a node is better than waiting; a pod for which all are below 0 waits."""

    def choose(self, arrays: ClusterArrays, scores: Array, feasible: Array) -> Array:
        """Return the node that the scores stand for, -1 if none is feasible or the pod is to wait."""
        return choose(
            arrays,
            scores,
            feasible,
            has_random_ties=self.has_random_ties,
            may_defer=self.may_defer,
            tie_tolerance=self.tie_tolerance,
        )
