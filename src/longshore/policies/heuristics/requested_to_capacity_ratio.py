"""The fullest node, as NodeResourcesFit's RequestedToCapacityRatio with the shape {0 %: 0, 100 %: 10}.

score = round((⌊100·requested / CPU⌋ + ⌊100·requested / memory⌋) / 2), with the pod on the node, requests with
upstream's defaults. It differs from MostAllocated in two ways: the mean is rounded to the nearest (halves up), and a
resource that scores 0 is left out of it.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.plugins.allocation import requested_to_capacity_ratio_score


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes] in 0..100."""
    return requested_to_capacity_ratio_score(arrays, pod_class)


POLICY = Policy(score=score, is_local=True)
