"""Rules that look at one node at a time: what they find there can be kept until the node changes.

Such a rule states facts about a pod on a node, from that node alone, and then ranks nodes by their facts; many just
take the first fact as the score. This is upstream's split of a score from its normalisation. Facts depend on a pod's
class and on what runs on the node, so that after a placement only one node's are new, and a simulator that fills
clusters need not look at the others. Written once, they serve one pod on all nodes, and all classes on one node.
"""

from collections.abc import Callable
from dataclasses import dataclass

from longshore.core.arrays import gpu
from longshore.core.arrays.choose import TIE_TOLERANCE
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.policies.base import Policy

Facts = Callable[[ClusterArrays, Array, Take], Array]
"""(arrays, pod class, what it takes from the GPUs) -> [facts, nodes], float. The class is one for all nodes, or, where
the arrays hold a single node, [classes]; the answer is [facts, classes] then. Rules that pick a device are also asked
about all devices at once: what is taken is [devices, nodes] then, and so is each fact."""

Rank = Callable[[Array, Array, ClusterArrays], Array]
"""(facts [facts, nodes], feasible [nodes], the cluster) -> score [nodes]."""


def first_fact(facts: Array, _feasible: Array, _arrays: ClusterArrays) -> Array:
    """Rank by the first fact alone."""
    return facts[0]


@dataclass(frozen=True)
class ByNode:
    """What a rule finds on a node, and how it ranks nodes by that."""

    facts: Facts
    rank: Rank = first_fact
    picks_device: bool = False
    """A share of a GPU is tried on every device of a node; the one where the first fact is largest takes it, the first
    of equals. Else it goes to the device with the least left that fits."""

    def look(self, arrays: ClusterArrays, pod_class: Array) -> tuple[Array, Take]:
        """Return the facts, where a share goes to its device [facts, nodes], and what is taken there."""
        if not self.picks_device or arrays.state.gpu_used.shape[1] == 0:
            take = gpu.take_fullest(arrays, pod_class)
            return self.facts(arrays, pod_class, take), take
        xp = namespace(arrays.state.gpu_used)
        takes, is_possible = gpu.take_from_each(arrays, pod_class)
        facts = self.facts(arrays, pod_class, takes)
        best = xp.argmax(xp.where(is_possible, facts[0], -xp.inf), axis=0)[None]
        taken = takes._replace(left=xp.take_along_axis(takes.left, best, axis=0)[0])
        return xp.take_along_axis(facts, xp.broadcast_to(best, (facts.shape[0], *best.shape)), axis=1)[:, 0], taken

    def score(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Score all nodes for one pod [nodes]."""
        return self.rank(self.look(arrays, pod_class)[0], feasible, arrays)

    def devices(self, arrays: ClusterArrays, pod_class: Array) -> Array:
        """Return the milli that the pod takes from every device [nodes, devices]."""
        return gpu.taken(arrays, pod_class, self.look(arrays, pod_class)[1])


def by_node(
    facts: Facts,
    rank: Rank = first_fact,
    *,
    picks_device: bool = False,
    tie_tolerance: float = TIE_TOLERANCE,
    reads_counts: bool = False,
) -> Policy:
    """Return such a rule as a policy; `reads_counts` says that a fact is a counter of pods."""
    rule = ByNode(facts, rank, picks_device)
    devices = rule.devices if picks_device else gpu.best_fit
    is_local = rank is first_fact and not reads_counts
    return Policy(score=rule.score, devices=devices, by_node=rule, tie_tolerance=tie_tolerance, is_local=is_local)
