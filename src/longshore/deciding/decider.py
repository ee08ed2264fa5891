"""Decide for one pod, at the speed of a live cluster: filters, score, choice, and the reasons. Pure: nothing is bound.

What is told of the nodes is what a scheduler needs: how many fit, the few best, and, only where none fits, how many
there are of every reason. Who wants to hear about every node asks for it.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Decision, Rejection
from longshore.core.words.pod import Pod
from longshore.core.words.scope import Scope
from longshore.deciding.kept_scores import KeptScores, can_keep
from longshore.deciding.one_class import narrow
from longshore.filters.unsupported import find_unreadable, find_unsupported
from longshore.policies.base import Choice, Policy, choose_node
from longshore.policies.changes import NodeChanges
from longshore.policies.kept import Kept
from longshore.policies.row_cache import RowCache

NUM_CANDIDATES = 5
"""How many of the best nodes a decision names."""
_MOST_KEPT_BYTES = 64 << 20
"""Of scores, about 20 bytes for every class and node."""

_NOMINATED = Rejection("", ("node(s) had room only beside pods that are nominated there",), is_resolvable=True)


class Decider:
    """Decides with one policy, pod after pod."""

    def __init__(self, policy: Policy, clock: Callable[[], float] = time.perf_counter) -> None:
        self.policy = policy
        self.filters = filters.filter_set(policy.filters)
        filters.load(self.filters)  # or the first decision waits for it
        self._clock = clock
        # What a policy keeps it recognises by the arrays that it is given: they must be the cluster's own.
        self._keeps_rows = isinstance(policy.score, RowCache)
        self._narrowed: Kept[ClassArrays] = Kept(Scope.NODE)
        self._kept: Kept[KeptScores] = Kept(Scope.READINGS)
        self._changes = NodeChanges()

    def decide(
        self,
        encoded: Encoded,
        pod: Pod,
        next_class: int = -1,
        allowed: Array | None = None,
        *,
        with_nodes: bool = False,
    ) -> Decision:
        """Decide for a pod of which `encoded` knows the class.

        Args:
            encoded: the cluster.
            pod: what to place.
            next_class: class of the pod that will be decided on after it, -1 = not known.
            allowed: nodes that may take it, beside what the filters say [nodes] bool; None = all.
            with_nodes: tell every node's score, or why it cannot take the pod.
        """
        started = self._clock()
        found = self._decide(encoded, pod, next_class, allowed, with_nodes=with_nodes)
        return Decision(
            pod_namespace=pod.namespace,
            pod_name=pod.name,
            pod_uid=pod.uid,
            policy=self.policy.name,
            policy_version=self.policy.version,
            num_nodes=len(encoded.node_names),
            latency_us=round((self._clock() - started) * 1e6),
            **found,
        )

    def choose(self, encoded: Encoded, pod: Pod) -> tuple[str | None, tuple[int, ...] | None]:
        """Return where a pod goes (None = nowhere) and which GPUs it takes: `decide` for many pods, without reasons."""
        if held_back_reason(encoded, pod) is not None:
            return None, None
        pod_class = np.asarray(encoded.class_of(pod))
        _, choice = self._choose(encoded.arrays, pod, pod_class, None)
        if choice is None or choice.node < 0:
            return None, None
        return encoded.node_names[int(choice.node)], _devices(choice)

    def _choose(
        self, arrays: ClusterArrays, pod: Pod, pod_class: Array, allowed: Array | None, *, wants_runner_up: bool = False
    ) -> tuple[Array, Choice | None]:
        """Return where the pod may go, and what the policy makes of it; None where it may go nowhere."""
        narrow = self._narrow(arrays, int(pod_class))
        kept = self._kept_for(arrays, narrow, int(pod_class))
        if kept is None:
            mask, scores = filters.feasible(narrow, pod_class, self.filters), None
            mask = mask if allowed is None else mask & allowed
        else:
            mask, scores = kept.look(narrow, allowed)
        if not mask.any():
            return mask, None
        choice = choose_node(
            self.policy,
            arrays if self._keeps_rows or kept is not None else narrow,
            pod_class,
            mask,
            scores=scores,
            wants_devices=pod.spec.gpu is not None,
            wants_runner_up=wants_runner_up,
        )
        return mask, choice

    def _decide(
        self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None, *, with_nodes: bool
    ) -> dict[str, Any]:
        """Return the fields of a decision that depend on the nodes."""
        held_back = held_back_reason(encoded, pod)
        if held_back is not None:
            nothing: dict[str, Any] = {"scores": {}, "rejections": {}} if with_nodes else {}
            return {"pending_reason": held_back, "is_held_back": True, **nothing}
        pod_class = np.asarray(encoded.class_of(pod))
        arrays = encoded.arrays
        arrays = arrays._replace(state=arrays.state._replace(next_class=np.asarray(next_class, np.int32)))
        mask, choice = self._choose(arrays, pod, pod_class, allowed, wants_runner_up=True)
        details = self._details(encoded, int(pod_class), allowed) if with_nodes else {}
        if choice is None:
            return self._no_room(encoded, int(pod_class), allowed) | details
        if with_nodes:
            details["scores"] = _by_name(encoded, choice.scores, mask)
        return {**_chosen(encoded, choice, mask), "num_feasible": int(np.count_nonzero(mask)), **details}

    def _kept_for(self, arrays: ClusterArrays, narrow: ClusterArrays, pod_class: int) -> KeptScores | None:
        """Return the kept scores of a class; None where a policy does not say what its scores depend on."""
        if not can_keep(self.policy):
            return None
        if self._kept.is_for(arrays):
            self._changes.look(arrays.state)
        else:
            self._changes.restart(arrays.state)
        found = self._kept.find(arrays, pod_class)
        if found is None:
            found = KeptScores(self.policy, self._changes, narrow, pod_class, self.filters)
            self._kept.put(pod_class, found, max(_MOST_KEPT_BYTES // found.num_bytes, 1))
        return found

    def _narrow(self, arrays: ClusterArrays, pod_class: int) -> ClusterArrays:
        """Return the cluster with tables as wide as one class needs, so that others' terms cost it nothing."""
        found = self._narrowed.find(arrays, pod_class)
        if found is None:
            found = self._narrowed.put(pod_class, narrow(arrays.classes, pod_class))
        return arrays._replace(classes=found)

    def _no_room(self, encoded: Encoded, pod_class: int, allowed: Array | None) -> dict[str, Any]:
        """Ask the filters once more, one by one, for what they have against the nodes."""
        rejections: Counter[Rejection] = Counter()
        left = encoded.arrays.nodes.is_real.copy()
        for _, found in filters.refusals(encoded, pod_class, self.filters, left):
            kinds = {id(rejection): rejection for rejection in found}  # thousands of nodes, a handful of objects
            for kind, count in Counter(map(id, found)).items():
                rejections[kinds[kind]] += count
        if allowed is not None and left.any():
            rejections[_NOMINATED] += int(np.count_nonzero(left))
        reasons: Counter[str] = Counter()
        for rejection, count in rejections.items():
            for reason in rejection.reasons:
                reasons[reason] += count
        return {
            "reasons": dict(reasons),
            "rejectors": frozenset(rejection.filter for rejection in rejections if rejection != _NOMINATED),
            "num_resolvable": sum(count for rejection, count in rejections.items() if rejection.is_resolvable),
            "pending_reason": sentence(len(encoded.node_names), reasons),
        }

    def _details(self, encoded: Encoded, pod_class: int, allowed: Array | None) -> dict[str, Any]:
        """Say of every node that cannot take the pod why not; scores come later, where there are any."""
        mask, rejections = filters.judge(encoded, pod_class, self.filters)
        if allowed is not None:
            rejections |= {encoded.node_names[node]: _NOMINATED for node in np.flatnonzero(mask & ~allowed).tolist()}
        return {"scores": {}, "rejections": rejections}


def sentence(num_nodes: int, counts: Mapping[str, int]) -> str:
    """Say why no node fits, in the words of upstream's FailedScheduling event."""
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
    needs = find_unsupported(pod, encoded.objects)
    if needs:
        return "; ".join(
            f"{need.field} needs {need.plugin}, which longshore does not model: {need.reason}" for need in needs
        )
    return None


def _chosen(encoded: Encoded, choice: Choice, mask: Array) -> dict[str, Any]:
    """Return a choice by the nodes' names."""
    names, scores, node = encoded.node_names, choice.scores, int(choice.node)
    runner_up = None if choice.runner_up < 0 else names[choice.runner_up]
    found: dict[str, Any] = {
        "runner_up": runner_up,
        "candidates": tuple((names[each], float(scores[each])) for each in _best(scores, mask)),
    }
    if node < 0:
        reason = f"the policy prefers to wait: it scores every node that has room below 0, `{runner_up}` highest"
        return found | {"pending_reason": reason}
    return found | {"node": names[node], "score": float(scores[node]), "devices": _devices(choice)}


def _devices(choice: Choice) -> tuple[int, ...] | None:
    return None if choice.devices is None else tuple(np.flatnonzero(choice.devices).tolist())


def _by_name(encoded: Encoded, scores: Array, mask: Array) -> dict[str, float]:
    nodes = np.flatnonzero(mask)
    return {encoded.node_names[i]: score for i, score in zip(nodes, scores[nodes].tolist(), strict=True)}


def _best(scores: Array, mask: Array) -> list[int]:
    """Return the feasible nodes with the best scores, the best first; of equals the first. No number is the worst."""
    worth = np.where(mask, scores, -np.inf)
    found: list[int] = []
    # One after the other: to part many equal scores takes NumPy far longer than to look for the best a few times.
    while len(found) < NUM_CANDIDATES:
        node = int(worth.argmax())
        if math.isnan(worth[node]):
            worth = np.where(np.isnan(worth), -np.inf, worth)
            continue
        if worth[node] == -np.inf:  # what is left has the worst score, or is not feasible
            rest = [other for other in mask.nonzero()[0].tolist() if other not in found]
            return found + rest[: NUM_CANDIDATES - len(found)]
        found.append(node)
        worth[node] = -np.inf
    return found
