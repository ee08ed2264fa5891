"""A trial of a learned policy before it is trusted: it places the pods of a small cluster, in NumPy."""

import math
from dataclasses import dataclass, replace

import numpy as np

from longshore.core.arrays.encode import encode
from longshore.core.network.bundle import Bundle
from longshore.core.words.errors import LongshoreError
from longshore.deciding.decide import decide_all
from longshore.filters import static_parts
from longshore.policies.learned import learned
from longshore.workloads.build import build_workload

WORKLOAD = "test1"
"""Its pods have latency limits and its nodes readings: every kind of feature is met."""
_NODES = 5
_PODS = 24


@dataclass(frozen=True)
class Trial:
    """What came of a trial."""

    nodes: int
    pods: int
    placed: int


def try_bundle(bundle: Bundle, seed: int = 0) -> Trial:
    """Place the first pods of a workload, drawn by the seed.

    Raises:
        LongshoreError: the policy needs what this installation lacks, cannot run, or gives scores that are no numbers.
    """
    workload = build_workload(WORKLOAD, {"nodes": bundle.num_nodes or _NODES})
    snapshot = workload.trace(seed).snapshot()
    encoded = encode(replace(snapshot, pods=snapshot.pods[:_PODS]), static_parts(), seed=seed)
    policy = learned(bundle)
    with np.errstate(over="ignore", invalid="ignore"):  # answered below, in words
        decisions = [decision for decision, _ in decide_all(encoded, policy)]
    for decision in decisions:
        if not all(math.isfinite(score) for score in (decision.scores or {}).values()):
            raise LongshoreError(
                f"policy `{bundle.name}` gives scores that are not finite", "train it again, with smaller weights"
            )
    return Trial(len(encoded.node_names), len(decisions), sum(decision.node is not None for decision in decisions))
