"""What came of a series of decisions: how many pods were placed, and the state of the cluster after them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longshore.core.arrays.cluster_arrays import is_on
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.power import CPU_COLUMN, cluster_watts, use_ratio
from longshore.core.words.decision import Decision


@dataclass(frozen=True, slots=True)
class PlacementFigures:
    """The figures by which runs over the same waiting pods are compared."""

    placed: int
    pending: int
    active_nodes: int
    """Nodes that are on: a pod keeps them from being removed."""
    beyond_hard_limit: int
    """Pods on nodes that are known to exceed their hard latency limit."""
    cpu_variance: float
    """Of requested by allocatable CPU over the nodes."""
    watts_idle_on: float
    watts_idle_off: float


def placement_figures(encoded: Encoded, decisions: Sequence[Decision]) -> PlacementFigures:
    """Sum up decisions; `encoded` is the cluster after the last of them."""
    nodes, state = encoded.arrays.nodes, encoded.arrays.state
    ratio = use_ratio(state.requested[:, CPU_COLUMN], nodes.allocatable[:, CPU_COLUMN])[nodes.is_real]
    num_placed = sum(decision.node is not None for decision in decisions)
    return PlacementFigures(
        placed=num_placed,
        pending=len(decisions) - num_placed,
        active_nodes=int(is_on(encoded.arrays).sum()),
        beyond_hard_limit=_num_beyond_limit(encoded, decisions),
        cpu_variance=float(np.var(ratio)) if len(ratio) else 0.0,
        watts_idle_on=float(cluster_watts(encoded.arrays, switch_off_idle=False)),
        watts_idle_off=float(cluster_watts(encoded.arrays, switch_off_idle=True)),
    )


def _num_beyond_limit(encoded: Encoded, decisions: Sequence[Decision]) -> int:
    limits = {pod.key: pod.spec.latency_hard_ms for pod in encoded.snapshot.pending}
    latency = {node.name: node.readings.latency_ms for node in encoded.snapshot.nodes}
    pairs = [(latency[decision.node], limits[decision.pod]) for decision in decisions if decision.node is not None]
    return sum(reading is not None and limit is not None and reading > limit for reading, limit in pairs)
