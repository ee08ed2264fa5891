"""The node with the most left over, as NodeResourcesFit's LeastAllocated.

score = ⌊(⌊100·(CPU - requested) / CPU⌋ + ⌊100·(memory - requested) / memory⌋) / 2⌋, with the pod on the node, requests
with upstream's defaults (100m CPU, 200 MiB for a container that names none), 0 for a resource that is overcommitted.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.plugins.allocation import least_allocated_score


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..100."""
    return least_allocated_score(arrays, pod_class)


POLICY = Policy(score=score, is_local=True)
