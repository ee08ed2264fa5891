"""What a policy is: whatever scores nodes, by rule or by training, and how its scores become a choice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from longshore.core.arrays import gpu
from longshore.core.arrays.choose import TIE_TOLERANCE, choose, choose_two
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array, namespace

if TYPE_CHECKING:
    from longshore.policies.heuristics.by_node import ByNode

Score = Callable[[ClusterArrays, Array, Array], Array]
"""(arrays, pod class, feasible [nodes]) -> [nodes]; higher is better. Scores of infeasible nodes are never read."""

Devices = Callable[[ClusterArrays, Array], Array]
"""(arrays, pod class) -> [nodes, devices]: the milli that the pod would take from every GPU of every node."""


@dataclass(frozen=True)
class Policy:
    """Whatever scores nodes; with its name and filters, whatever a scheduler can be told to run."""

    score: Score
    devices: Devices = gpu.best_fit
    has_random_ties: bool = False
    """Ties go to a random node by the state's seed, as upstream's do; else to the lowest name."""
    is_order_dependent: bool = False
    """The choice depends on node names or on history, so that renaming nodes may change it."""
    is_local: bool = False
    """A node's score depends on the pod and on that node alone (what it is, runs and reads), and is kept until it
    changes."""
    by_node: "ByNode | None" = None
    """The same rule as facts about single nodes, where it is one (`policies.heuristics.by_node`)."""
    tie_tolerance: float = TIE_TOLERANCE
    """Nodes whose scores are within this of the best tie."""
    may_defer: bool = False
    """Scores say by how much a node is better than waiting; a pod for which all are below 0 waits."""
    name: str = ""
    """What the user calls it: a name of the registry, or the folder of a bundle."""
    filters: str = "upstream"
    """The filter set that it runs behind."""
    version: str = ""
    """SHA-256 of the bundle's `policy.json`, which names the weights' own; empty for policies without weights."""
    num_nodes: int | None = None
    """Of a network of fixed size; None = any number."""


class Choice(NamedTuple):
    """What a policy makes of one pod."""

    node: Array  # []; -1 = none is feasible, or the pod is to wait
    scores: Array  # [nodes]
    devices: Array  # [devices] int64 milli that the pod takes of each of the node's GPUs; None = not asked for
    runner_up: int = -1
    """What would be chosen without that node or, where the pod is to wait, without waiting; -1 = none, or not asked."""


def choose_node(
    policy: Policy,
    arrays: ClusterArrays,
    pod_class: Array,
    feasible: Array,
    *,
    scores: Array | None = None,
    wants_devices: bool = True,
    wants_runner_up: bool = False,
) -> Choice:
    """Score the nodes, choose one of those that are feasible, and say which of its GPUs the pod takes.

    Args:
        policy: who chooses.
        arrays: the cluster.
        pod_class: of the pod.
        feasible: where the pod may go [nodes] bool; a node that is not feasible is never chosen.
        scores: [nodes], where they are known already; None = the policy is asked.
        wants_devices: False leaves the GPUs out, for pods that want none.
        wants_runner_up: True looks for the second best, too; NumPy only.
    """
    if scores is None:
        scores = policy.score(arrays, pod_class, feasible)
    runner_up = -1
    if wants_runner_up:
        node, runner_up = choose_two(
            arrays,
            scores,
            feasible,
            has_random_ties=policy.has_random_ties,
            may_defer=policy.may_defer,
            tie_tolerance=policy.tie_tolerance,
        )
    else:
        node = choose(
            arrays,
            scores,
            feasible,
            has_random_ties=policy.has_random_ties,
            may_defer=policy.may_defer,
            tie_tolerance=policy.tie_tolerance,
        )
    devices = policy.devices(arrays, pod_class)[namespace(feasible).maximum(node, 0)] if wants_devices else None
    return Choice(node, scores, devices, runner_up)
