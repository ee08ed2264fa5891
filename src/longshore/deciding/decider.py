"""Decide for one pod, at the speed of a live cluster: filters, score, choice, and the reasons. Pure: nothing is bound.

What is told of the nodes is what a scheduler needs: how many fit, the few best, and, only where none fits, how many
there are of every reason. Who wants to hear about every node asks for it.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

import numpy as np

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Decision, Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.kept_scores import TERMS, KeptScores
from longshore.deciding.kept_scores import make as make_kept
from longshore.filters.unsupported import find_unreadable, find_unsupported
from longshore.policies.base import Choice, Policy, choose_node
from longshore.policies.row_cache import RowCache

NUM_CANDIDATES = 5
"""How many of the best nodes a decision names."""
_MOST_KEPT = 16
"""Classes of which scores are kept, about 100 bytes for every node each."""

_NOMINATED = Rejection("", ("node(s) had room only beside pods that are nominated there",), is_resolvable=True)


class Decider:
    """Decides with one policy, pod after pod."""

    def __init__(self, policy: Policy, clock: Callable[[], float] = time.perf_counter) -> None:
        self.policy = policy
        self.filters = filters.filter_set(policy.filters)
        self._clock = clock
        # What a policy keeps it recognises by the arrays that it is given: they must be the cluster's own.
        self._keeps_rows = isinstance(policy.score, RowCache)
        self._narrowed: dict[int, ClassArrays] = {}
        self._narrowed_from: ClassArrays | None = None
        self._kept: dict[int, tuple[tuple[Any, ...], KeptScores | None]] = {}
        """By class; with the nodes, readings, tables and classes that all was computed from."""

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
        narrow = arrays._replace(classes=self._narrow(arrays.classes, int(pod_class)))
        kept = self._kept_for(narrow, int(pod_class))
        mask = filters.feasible(narrow, pod_class, self.filters) if kept is None else kept.mask
        mask = mask if allowed is None else mask & allowed
        num_feasible = int(np.count_nonzero(mask))
        details = self._details(encoded, int(pod_class), allowed) if with_nodes else {}
        if num_feasible == 0:
            return self._no_room(encoded, int(pod_class), allowed) | details
        choice = choose_node(
            self.policy,
            arrays if self._keeps_rows or kept is not None else narrow,
            pod_class,
            mask,
            scores=None if kept is None else kept.scores,
            wants_devices=pod.spec.gpu is not None,
            wants_runner_up=True,
        )
        if with_nodes:
            details["scores"] = _by_name(encoded, choice.scores, mask)
        return {**_chosen(encoded, choice, mask), "num_feasible": num_feasible, **details}

    def _kept_for(self, narrow: ClusterArrays, pod_class: int) -> KeptScores | None:
        """Return the kept scores of a class, up to date; None where nothing can be kept."""
        basis, found = narrow[:-1], self._kept.get(pod_class)
        if found is not None and all(map(is_, found[0], basis)):
            if found[1] is not None:
                found[1].update(narrow)
            return found[1]
        kept = make_kept(self.policy, narrow, pod_class, self.filters)
        self._kept.pop(pod_class, None)  # the newest stand at the end
        self._kept[pod_class] = (basis, kept)
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def _narrow(self, classes: ClassArrays, pod_class: int) -> ClassArrays:
        """Return the classes with tables as wide as one of them needs, so that others' terms cost it nothing."""
        if classes is not self._narrowed_from:
            self._narrowed, self._narrowed_from = {}, classes
        found = self._narrowed.get(pod_class)
        if found is None:
            found = self._narrowed[pod_class] = _narrowed(classes, pod_class)
        return found

    def _no_room(self, encoded: Encoded, pod_class: int, allowed: Array | None) -> dict[str, Any]:
        """Ask the filters once more, one by one, for what they have against the nodes."""
        rejections: Counter[Rejection] = Counter()
        left = encoded.arrays.nodes.is_real.copy()
        for _, unit in filters.load(self.filters):
            fits = unit.feasible(encoded.arrays, np.asarray(pod_class))
            rejected = np.flatnonzero(left & ~fits).tolist()
            if rejected:
                rejections.update(unit.explain(encoded, pod_class, rejected))
            left &= fits
        if allowed is not None and left.any():
            rejections[_NOMINATED] += int(np.count_nonzero(left))
        reasons: Counter[str] = Counter()
        for rejection, count in rejections.items():
            for reason in rejection.reasons:
                reasons[reason] += count
        return {
            "reasons": dict(reasons),
            "rejectors": frozenset(rejection.filter for rejection in rejections if rejection.filter),
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
    devices = None if choice.devices is None else tuple(np.flatnonzero(choice.devices).tolist())
    return found | {"node": names[node], "score": float(scores[node]), "devices": devices}


def _by_name(encoded: Encoded, scores: Array, mask: Array) -> dict[str, float]:
    nodes = np.flatnonzero(mask)
    return {encoded.node_names[i]: score for i, score in zip(nodes, scores[nodes].tolist(), strict=True)}


def _narrowed(classes: ClassArrays, pod_class: int) -> ClassArrays:
    ports = classes.ports[:, : np.count_nonzero(classes.ports[pod_class])]
    width = np.count_nonzero(classes.preferred.query[pod_class])
    narrowed = {
        name: type(terms)._make(column[:, : np.count_nonzero(terms.query[pod_class])] for column in terms)
        for name, terms in ((name, getattr(classes, name)) for name in TERMS)
    }
    return classes._replace(ports=ports, preferred_weight=classes.preferred_weight[:, :width], **narrowed)


def _best(scores: Array, mask: Array) -> list[int]:
    """Return the feasible nodes with the best scores, the best first."""
    nodes = mask.nonzero()[0]
    worth = scores[nodes]
    if worth.dtype.kind == "f":
        worth = np.nan_to_num(worth, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    if len(nodes) > NUM_CANDIDATES:
        few = np.argpartition(-worth, NUM_CANDIDATES - 1)[:NUM_CANDIDATES]
        nodes, worth = nodes[few], worth[few]
    order = np.argsort(-worth, kind="stable")
    return [int(node) for node in nodes[order]]
