"""The next feasible node after the last one, by name.

score = -((rank - rank of the last node - 1) mod nodes), where rank is the place in the order of names. At the start the
lowest name comes first.
"""

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy


def score(arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    """Return int64 [nodes]: minus the number of names between the last node and this one, going round."""
    xp = namespace(arrays.nodes.name_rank)
    rank, last_node = arrays.nodes.name_rank.astype(xp.int64), arrays.state.last_node
    last_rank = xp.where(last_node >= 0, rank[last_node], -1)
    # Going round over the padded length gives the same order as over the real nodes.
    return -((rank - last_rank - 1) % rank.shape[0])


POLICY = Policy(score=score, is_order_dependent=True)
