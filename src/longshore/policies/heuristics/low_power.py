"""The node where the pod adds the fewest watts.

score = watts now - watts with the pod on the node, by the node's power curve over the CPU share that is requested; idle
nodes stay on.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import added_watts
from longshore.policies.base import Policy


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return float64 [nodes]: minus the added watts."""
    return -added_watts(arrays, pod_class)


POLICY = Policy(score=score, is_local=True)
