"""Decide for all pods that wait, each on the cluster that the one before left. Pure: nothing is bound."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np

from longshore.core.arrays import gpu
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.place import place
from longshore.core.words.decision import Decision
from longshore.core.words.pod import Pod
from longshore.deciding.decider import Decider, held_back_reason
from longshore.objectives.base import Transition
from longshore.objectives.weighted import Weighted
from longshore.policies.base import Policy


def decide_all(
    encoded: Encoded, policy: Policy, objective: Weighted | None = None
) -> Iterator[tuple[Decision, Encoded]]:
    """Decide for every waiting pod, the highest priority first; yield each decision and the cluster after it.

    Decisions tell about every node and, where an objective is given, its terms.
    """
    decider = Decider(policy)
    waiting = sorted(encoded.snapshot.pending, key=lambda pod: -pod.priority)
    for pod, next_class in zip(waiting, _following(encoded, waiting), strict=True):
        decision = decider.decide(encoded, pod, next_class, with_nodes=True)
        if decision.node is not None:
            decision, encoded = _carried_out(encoded, pod, decision, objective)
        yield decision, encoded


def _carried_out(
    encoded: Encoded, pod: Pod, decision: Decision, objective: Weighted | None
) -> tuple[Decision, Encoded]:
    """Return a decision with the objective's terms, and the cluster with the pod where it goes."""
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(pod))
    node = np.asarray(encoded.node_index[decision.node or ""])
    devices = gpu.held(pod.spec.gpu, decision.devices, arrays.state.gpu_used.shape[1])
    after = place(arrays, pod_class, node, devices)
    if objective is not None:
        terms = objective.explain(Transition(arrays, after, pod_class, node))
        decision = msgspec.structs.replace(decision, terms={name: float(value) for name, value in terms.items()})
    return decision, replace(encoded, arrays=after)


def _following(encoded: Encoded, waiting: list[Pod]) -> list[int]:
    """Return, for every waiting pod, the class of the next one that will be decided on; -1 = none."""
    found, next_class = [], -1
    for pod in reversed(waiting):
        found.append(next_class)
        next_class = encoded.class_of(pod) if held_back_reason(encoded, pod) is None else next_class
    return found[::-1]
