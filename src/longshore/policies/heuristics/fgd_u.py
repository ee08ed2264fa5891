"""FGD, and among its many ties the node where typical pods can still use the most.

score = FGD's score (0..99) + ties by how little the placement takes of the potential that it leaves idle:
U = idle GPU - what typical pods could use of it (`arrays.fragmentation.potential`), which asks how many such pods still
fit where FGD asks whether one does. Ties that remain go to the lowest name, as ever.
"""

from longshore.core.arrays import fragmentation
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import cpu_millis_left
from longshore.policies.heuristics import fgd
from longshore.policies.heuristics.amounts import cpu_millis_wanted
from longshore.policies.heuristics.by_node import by_node

_MOST_MILLI = 2.0**17
"""Beyond the milli of any node: a difference of U divided by it stays below one half."""


def facts(arrays: ClusterArrays, pod_class: Array, take: Take) -> Array:
    """Return float64 [1, nodes]."""
    cpu = cpu_millis_left(arrays)
    now = fragmentation.offers(arrays)
    usable = fragmentation.potential(arrays, now, cpu)
    usable_after = fragmentation.potential_after(arrays, now, take, cpu - cpu_millis_wanted(arrays, pod_class))
    fall = take.count * take.milli - (usable - usable_after)
    return fgd.facts(arrays, pod_class, take) + fall[None] / _MOST_MILLI


POLICY = by_node(facts, picks_device=True)
