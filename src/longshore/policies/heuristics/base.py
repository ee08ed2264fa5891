"""What a heuristic is: a pure scoring function over all nodes at once, and how it breaks ties."""

from collections.abc import Callable
from dataclasses import dataclass

from longshore.core import gpu
from longshore.core.arrays import ClusterArrays
from longshore.core.ops import Array

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
