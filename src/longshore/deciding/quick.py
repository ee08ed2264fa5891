"""Decide for one pod at the speed of a live cluster: the choice of `deciding.decide`, without a word about every node.

What is told of the nodes is what a scheduler needs: how many fit, the few best, and, only where none fits, how many
there are of every reason.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np

from longshore import filters
from longshore.core.arrays.choose import choose_two
from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.decide import Chooser, held_back_reason, sentence
from longshore.deciding.kept_scores import TERMS, KeptScores
from longshore.deciding.kept_scores import make as make_kept
from longshore.policies.heuristics.base import Heuristic
from longshore.policies.row_cache import RowCache

NUM_CANDIDATES = 5
"""How many of the best nodes a decision names."""
_MOST_KEPT = 16
"""Classes of which scores are kept, about 100 bytes for every node each."""

_KEPT = Rejection("", ("node(s) had room only beside pods that are nominated there",), is_resolvable=True)


@dataclass(frozen=True, slots=True)
class QuickDecision:
    """What was decided for one pod; `core.decision.Decision` is the same with every node named."""

    pod: str
    """`namespace/name`."""
    policy: str
    node: str | None
    """The chosen node; None = the pod stays pending."""
    score: float | None = None
    """Of the chosen node."""
    runner_up: str | None = None
    num_nodes: int = 0
    num_feasible: int = 0
    candidates: tuple[tuple[str, float], ...] = ()
    """The best nodes with their scores, the best first."""
    devices: tuple[int, ...] | None = None
    """Which of the node's GPUs the pod is to take; None = it wants none."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Where no node fits: how many nodes have each reason."""
    rejectors: frozenset[str] = frozenset()
    """Where no node fits: upstream's names of the filters that rejected one."""
    num_resolvable: int = 0
    """Where no node fits: nodes on which removing pods could help."""
    pending_reason: str | None = None
    """Why the pod was not placed, in one sentence."""
    is_held_back: bool = False
    """The pod was not compared with the nodes at all: gated, being deleted, or of unsupported needs."""
    seconds: float = 0.0


class QuickDecider:
    """Decides with one policy, pod after pod."""

    def __init__(self, chooser: Chooser, clock: Callable[[], float] = time.perf_counter) -> None:
        self.chooser = chooser
        self._clock = clock
        # What a policy keeps it recognises by the arrays that it is given: they must be the cluster's own.
        self._keeps_rows = isinstance(chooser.heuristic.score, RowCache)
        self._narrowed: dict[int, ClassArrays] = {}
        self._narrowed_from: ClassArrays | None = None
        self._kept: dict[int, tuple[tuple[Any, ...], KeptScores | None]] = {}
        """By class; with the nodes, readings, tables and classes that all was computed from."""

    @cached_property
    def _without_waiting(self) -> Heuristic:
        return replace(self.chooser.heuristic, may_defer=False)

    def decide(self, encoded: Encoded, pod: Pod, next_class: int = -1, allowed: Array | None = None) -> QuickDecision:
        """Decide for a pod of which `encoded` knows the class.

        Args:
            encoded: the cluster.
            pod: what to place.
            next_class: class of the pod that will be decided on after it, -1 = not known.
            allowed: nodes that may take it, beside what the filters say [nodes] bool; None = all.
        """
        started = self._clock()
        decision = self._decide(encoded, pod, next_class, allowed)
        return replace(decision, num_nodes=len(encoded.node_names), seconds=self._clock() - started)

    def _decide(self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None) -> QuickDecision:
        name, heuristic = self.chooser.name, self.chooser.heuristic
        held_back = held_back_reason(encoded, pod)
        if held_back is not None:
            return QuickDecision(pod.key, name, None, pending_reason=held_back, is_held_back=True)
        pod_class = np.asarray(encoded.class_of(pod))
        arrays = encoded.arrays
        arrays = arrays._replace(state=arrays.state._replace(next_class=np.asarray(next_class, np.int32)))
        narrow = arrays._replace(classes=self._narrow(arrays.classes, int(pod_class)))
        kept = self._kept_for(narrow, int(pod_class))
        mask = filters.feasible(narrow, pod_class, self.chooser.filters) if kept is None else kept.mask
        mask = mask if allowed is None else mask & allowed
        num_feasible = int(np.count_nonzero(mask))
        if num_feasible == 0:
            return self._no_room(encoded, pod, int(pod_class), allowed)
        if kept is None:
            scores = heuristic.score(arrays if self._keeps_rows else narrow, pod_class, mask)
        else:
            scores = kept.scores
        node, second = self._choose_two(arrays, scores, mask)
        names = encoded.node_names
        runner_up = None if second < 0 else names[second]
        candidates = tuple((names[i], float(scores[i])) for i in _best(scores, mask))
        if node < 0:
            reason = f"the policy prefers to wait: it scores every node that has room below 0, `{runner_up}` highest"
            return QuickDecision(
                pod.key,
                name,
                None,
                runner_up=runner_up,
                num_feasible=num_feasible,
                candidates=candidates,
                pending_reason=reason,
            )
        devices = None
        if pod.spec.gpu is not None:
            devices = tuple(np.flatnonzero(heuristic.devices(arrays, pod_class)[node]).tolist())
        return QuickDecision(
            pod.key, name, names[node], float(scores[node]), runner_up, 0, num_feasible, candidates, devices
        )

    def _choose_two(self, arrays: ClusterArrays, scores: Array, mask: Array) -> tuple[int, int]:
        """Return the chosen node and the one that would be chosen without it; -1 = none."""
        heuristic = self.chooser.heuristic
        if not heuristic.may_defer:
            return choose_two(
                arrays,
                scores,
                mask,
                has_random_ties=heuristic.has_random_ties,
                tie_tolerance=heuristic.tie_tolerance,
            )
        node = int(heuristic.choose(arrays, scores, mask))
        others = mask.copy()
        if node >= 0:
            others[node] = False
        return node, int(self._without_waiting.choose(arrays, scores, others))

    def _kept_for(self, narrow: ClusterArrays, pod_class: int) -> KeptScores | None:
        """Return the kept scores of a class, up to date; None where nothing can be kept."""
        basis, found = narrow[:-1], self._kept.get(pod_class)
        if found is not None and all(map(is_, found[0], basis)):
            if found[1] is not None:
                found[1].update(narrow)
            return found[1]
        kept = make_kept(self.chooser.heuristic, narrow, pod_class, self.chooser.filters)
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

    def _no_room(self, encoded: Encoded, pod: Pod, pod_class: int, allowed: Array | None) -> QuickDecision:
        """Ask the filters once more, one by one, for what they have against the nodes."""
        rejections: Counter[Rejection] = Counter()
        left = encoded.arrays.nodes.is_real.copy()
        for _, unit in filters.load(self.chooser.filters):
            fits = unit.feasible(encoded.arrays, np.asarray(pod_class))
            rejected = np.flatnonzero(left & ~fits).tolist()
            if rejected:
                rejections.update(unit.explain(encoded, pod_class, rejected))
            left &= fits
        if allowed is not None and left.any():
            rejections[_KEPT] += int(np.count_nonzero(left))
        reasons: Counter[str] = Counter()
        for rejection, count in rejections.items():
            for reason in rejection.reasons:
                reasons[reason] += count
        return QuickDecision(
            pod.key,
            self.chooser.name,
            None,
            reasons=dict(reasons),
            rejectors=frozenset(rejection.filter for rejection in rejections if rejection.filter),
            num_resolvable=sum(count for rejection, count in rejections.items() if rejection.is_resolvable),
            pending_reason=sentence(len(encoded.node_names), reasons),
        )


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
