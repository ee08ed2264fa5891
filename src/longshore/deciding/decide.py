"""Decide for one pod, or for all that wait: filters, score, choice, and the reasons. Pure: nothing is bound."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from longshore import filters
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.words.decision import Decision, Rejection
from longshore.core.words.pod import Pod
from longshore.filters.unsupported import find_unreadable, find_unsupported
from longshore.objectives.base import Transition
from longshore.objectives.weighted import Weighted
from longshore.policies.heuristics.base import Heuristic


@dataclass(frozen=True)
class Chooser:
    """A policy with the filters that it runs behind."""

    name: str
    heuristic: Heuristic
    filters: tuple[str, ...] = filters.UPSTREAM


def decide(encoded: Encoded, pod: Pod, chooser: Chooser, objective: Weighted | None = None) -> tuple[Decision, Encoded]:
    """Decide for a pod; return the decision and the cluster after it."""
    return _decide(encoded, pod, chooser, objective, held_back_reason(encoded, pod))


def _decide(
    encoded: Encoded, pod: Pod, chooser: Chooser, objective: Weighted | None, held_back: str | None
) -> tuple[Decision, Encoded]:
    if held_back is not None:
        return Decision(pod.key, chooser.name, None, {}, {}, pending_reason=held_back), encoded
    arrays, index = encoded.arrays, encoded.class_of(pod)
    pod_class = np.asarray(index)
    mask, rejections = filters.judge(encoded, index, chooser.filters)
    if not mask.any():
        reason = summary(len(encoded.node_names), rejections.values())
        return Decision(pod.key, chooser.name, None, {}, rejections, pending_reason=reason), encoded
    scores = chooser.heuristic.score(arrays, pod_class, mask)
    node, runner_up = _best_two(encoded, chooser.heuristic, scores, mask)
    names, candidates = encoded.node_names, np.flatnonzero(mask)
    scored = {names[i]: float(score) for i, score in zip(candidates, scores[candidates].tolist(), strict=True)}
    second = None if runner_up < 0 else names[runner_up]
    if node < 0:
        reason = f"the policy prefers to wait: it scores every node that has room below 0, `{second}` highest"
        return Decision(pod.key, chooser.name, None, scored, rejections, second, pending_reason=reason), encoded
    devices = chooser.heuristic.devices(arrays, pod_class)[node]
    after = place(arrays, pod_class, np.asarray(node), devices)
    decision = Decision(
        pod=pod.key,
        policy=chooser.name,
        node=names[node],
        scores=scored,
        rejections=rejections,
        runner_up=second,
        terms=_terms(objective, Transition(arrays, after, pod_class, np.asarray(node))),
    )
    return decision, replace(encoded, arrays=after)


def decide_all(
    encoded: Encoded, chooser: Chooser, objective: Weighted | None = None
) -> Iterator[tuple[Decision, Encoded]]:
    """Decide for every waiting pod, the highest priority first, each on the cluster that the one before left."""
    waiting = sorted(encoded.snapshot.pending, key=lambda pod: -pod.priority)
    reasons = [held_back_reason(encoded, pod) for pod in waiting]
    following = _following(encoded, waiting, reasons)
    for pod, held_back, next_class in zip(waiting, reasons, following, strict=True):
        state = encoded.arrays.state._replace(next_class=np.asarray(next_class, np.int32))
        encoded = replace(encoded, arrays=encoded.arrays._replace(state=state))
        decision, encoded = _decide(encoded, pod, chooser, objective, held_back)
        yield decision, encoded


def _following(encoded: Encoded, waiting: list[Pod], held_back: list[str | None]) -> list[int]:
    """Return, for every waiting pod, the class of the next one that will be decided on; -1 = none."""
    found, next_class = [], -1
    for pod, reason in zip(reversed(waiting), reversed(held_back), strict=True):
        found.append(next_class)
        next_class = encoded.class_of(pod) if reason is None else next_class
    return found[::-1]


def summary(num_nodes: int, rejections: Iterable[Rejection]) -> str:
    """Say why no node fits, in the words of upstream's FailedScheduling event."""
    return sentence(num_nodes, Counter(reason for rejection in rejections for reason in rejection.reasons))


def sentence(num_nodes: int, counts: Mapping[str, int]) -> str:
    """Say the same where the reasons are counted already."""
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{num_nodes} nodes are available" + (f": {reasons}." if reasons else ".")


def held_back_reason(encoded: Encoded, pod: Pod) -> str | None:
    """Say why a pod is not to be placed at all, whatever the nodes; None = it may be."""
    if pod.scheduling_gates:
        return f"scheduling is gated by {', '.join(pod.scheduling_gates)}"
    if pod.spec.is_terminating:
        return "it is being deleted"
    unreadable = find_unreadable(pod.spec)
    if unreadable:
        return "; ".join(unreadable)
    needs = find_unsupported(pod, encoded.context)
    if needs:
        return "; ".join(
            f"{need.field} needs {need.plugin}, which longshore does not model: {need.reason}" for need in needs
        )
    return None


def _best_two(encoded: Encoded, heuristic: Heuristic, scores: Array, mask: Array) -> tuple[int, int]:
    """Return the chosen node, and the one that would have been chosen without it; -1 = none.

    Where waiting is chosen, the second is the node that would have been chosen without waiting.
    """
    node = int(heuristic.choose(encoded.arrays, scores, mask))
    others = mask & (np.arange(len(mask)) != node)
    return node, int(replace(heuristic, may_defer=False).choose(encoded.arrays, scores, others))


def _terms(objective: Weighted | None, step: Transition) -> dict[str, float]:
    return {} if objective is None else {name: float(value) for name, value in objective.explain(step).items()}
