"""The node with the fewest TCP connections.

score = -connections, as last measured. A node without a reading comes after all that have one.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import known_or_worst


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return float64 [nodes]: minus the reading."""
    return -known_or_worst(arrays.readings.connections, arrays.readings.connections_known)


POLICY = Policy(score=score, is_local=True)
