"""The node whose CPU and memory are used most alike after the placement.

score = -|requested CPU / CPU - requested memory / memory|, with the pod on the node, by exact requests.

After SPANE's BalanceFit (INFOCOM'25), which keeps the two NUMA halves of a server alike: it takes the server with the
largest difference between its halves and fills the emptier one. A Kubernetes node has no halves that a scheduler sees,
so here the two resources take their place. Its published table needs the rule over halves, not this one.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import used_shares_after


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return float64 [nodes], 0 (alike) down to -1."""
    shares = used_shares_after(arrays, pod_class)
    return -namespace(shares).abs(shares[:, 0] - shares[:, 1])


POLICY = Policy(score=score, is_local=True)
