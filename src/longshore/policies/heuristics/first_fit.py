"""The feasible node with the lowest name.

score = 0 on every node: ties go to the lowest name.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 zeros [nodes]."""
    xp = namespace(feasible)
    return xp.zeros(feasible.shape, xp.int64)


POLICY = Policy(score=score, is_order_dependent=True)
