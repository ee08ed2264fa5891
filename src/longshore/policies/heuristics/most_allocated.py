"""The node with the least left over, as NodeResourcesFit's MostAllocated.

score = ⌊(⌊100·requested / CPU⌋ + ⌊100·requested / memory⌋) / 2⌋, with the pod on the node, requests with upstream's
defaults (100m CPU, 200 MiB for a container that names none), at most 100 per resource.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.plugins.allocation import most_allocated_score


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..100."""
    return most_allocated_score(arrays, pod_class)


POLICY = Policy(score=score, is_local=True)
