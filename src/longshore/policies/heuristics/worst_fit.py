"""The node with the most left over after the placement.

score = mean over CPU and memory of (allocatable - requested - request) / allocatable, by exact requests.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import used_shares_after


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return float64 [nodes], 0 (full) to 1 (empty)."""
    return 1.0 - used_shares_after(arrays, pod_class).mean(axis=1)


POLICY = Policy(score=score, is_local=True)
