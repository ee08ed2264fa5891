"""One attempt to place a pod: the policy's choice, room kept for nominated pods, and preemption where none fits. Pure.

In: the cluster as it is seen now. Out: a verdict, on which `deciding.live` acts. Nothing is bound or evicted here.
"""

import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.pod import Pod
from longshore.deciding.assume import ClusterView
from longshore.deciding.decide import Chooser
from longshore.deciding.helping import UNSUPPORTED
from longshore.deciding.nominated import Nominations
from longshore.deciding.preempt import (
    NO_VICTIMS,
    NOT_HELPFUL,
    Preemption,
    Search,
    eligibility,
    fit_message,
    preempt,
)
from longshore.deciding.quick import QuickDecider, QuickDecision
from longshore.deciding.trial_room import Move, fits_beside, reject_beside
from longshore.kube.context import DisruptionBudget
from longshore.policies import REGISTRY

NO_NODES = "no nodes available to schedule pods"
FALLBACK_POLICY = "kube-default"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one attempt."""

    decision: QuickDecision
    message: str = ""
    """Why the pod stays pending, in the words of upstream's FailedScheduling event."""
    rejectors: frozenset[str] = frozenset()
    """What would have to change before another attempt makes sense; none = try again after the backoff."""
    preemption: Preemption | None = None
    """Room that is to be made, or a nomination that is to end."""
    fallback_reason: str | None = None
    """Why the policy did not decide itself."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is asked: a pod, and what the watch says about it beside its spec."""

    pod: Pod
    following: Pod | None = None
    """The pod that will be decided on next, for policies that look ahead."""
    preemption_policy: str = ""
    is_preempting: bool = False
    """Its victims are being told to leave: nobody else is to leave for it meanwhile."""


@dataclass
class Cycle:
    """Attempts, one after the other, on a cluster that changes between them."""

    decider: QuickDecider
    view: ClusterView
    nominations: Nominations = field(default_factory=Nominations)
    budgets: Callable[[], Sequence[DisruptionBudget]] = tuple
    may_preempt: bool = True
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    """Draws where among the candidates a search for victims begins."""

    def __post_init__(self) -> None:
        chooser = self.decider.chooser
        self._fallback: QuickDecider | None = None
        if chooser.name != FALLBACK_POLICY:
            self._fallback = QuickDecider(Chooser(FALLBACK_POLICY, REGISTRY.load(FALLBACK_POLICY), chooser.filters))
        self._told: set[str] = set()
        # Pods of one spec fail alike as long as nothing changes: a full cluster with thousands of waiting pods.
        self._failed: dict[object, Verdict] = {}
        self._failed_at = (-1, -1)

    def attempt(self, asked: Attempt) -> Verdict:
        """Look for a node, and where there is none, for pods that could leave one."""
        pod = asked.pod
        version = (self.view.version, self.nominations.version)
        if version != self._failed_at:
            self._failed, self._failed_at = {}, version
        own = self.nominations.node_of(pod.key)
        key = (pod.spec, pod.priority, pod.unmodelled, asked.preemption_policy, asked.is_preempting)
        known = None if own else self._failed.get(key)
        if known is not None:
            return replace(known, decision=replace(known.decision, pod=pod.key))
        verdict = self._attempt(asked, own)
        has_failed = verdict.decision.node is None and bool(verdict.rejectors)
        if has_failed and not own and (verdict.preemption is None or verdict.preemption.node is None):
            self._failed[key] = verdict
        return verdict

    def _attempt(self, asked: Attempt, own: str) -> Verdict:
        pod, following = asked.pod, asked.following
        nominated = list(self.nominations.that_count(pod)) if self.nominations else []
        waiting = [pod, *(each.pod for each in nominated)]
        if following is not None:
            waiting.append(following)
        encoded = self.view.live.encoded(waiting)
        if not encoded.node_names:
            decision = QuickDecision(pod.key, self.decider.chooser.name, None, pending_reason=NO_NODES)
            return Verdict(decision, NO_NODES)
        kept = [Move(encoded.node_index[each.node], each.pod) for each in nominated if each.node in encoded.node_index]
        allowed = fits_beside(encoded, pod, kept, self.decider.chooser.filters) if kept else None
        next_class = encoded.class_of(following) if following is not None else -1
        decision, fallback = self._choose(encoded, pod, next_class, allowed, own)
        if decision.node is not None:
            return Verdict(decision, fallback_reason=fallback)
        if decision.is_held_back:
            reason = decision.pending_reason or ""
            return Verdict(decision, reason, frozenset({UNSUPPORTED}))
        if not decision.rejectors and not decision.reasons:  # the policy prefers to wait
            return Verdict(decision, decision.pending_reason or "", fallback_reason=fallback)
        return self._no_room(encoded, asked, decision, kept, own)

    def _choose(
        self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None, own: str
    ) -> tuple[QuickDecision, str | None]:
        """Take the node that the pod is nominated to if it fits there, as upstream does; else the policy's choice."""
        row = encoded.node_index.get(own, -1) if own else -1
        if row >= 0:
            only = np.zeros(len(encoded.arrays.nodes.is_real), bool)
            only[row] = allowed is None or bool(allowed[row])
            found, fallback = self._decide(encoded, pod, next_class, only)
            if found.node is not None or found.is_held_back:
                return found, fallback
        return self._decide(encoded, pod, next_class, allowed)

    def _decide(
        self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None
    ) -> tuple[QuickDecision, str | None]:
        if self._fallback is None:
            return self.decider.decide(encoded, pod, next_class, allowed), None
        try:
            return self.decider.decide(encoded, pod, next_class, allowed), None
        except Exception as error:  # noqa: BLE001 (whatever a policy does wrong, the pod is still placed)
            reason = f"{type(error).__name__}: {error}"
            if reason not in self._told:
                self._told.add(reason)
                _log.warning(
                    "policy failed, %s decides policy=%s: %s", FALLBACK_POLICY, self.decider.chooser.name, reason
                )
            return self._fallback.decide(encoded, pod, next_class, allowed), reason

    def _no_room(
        self, encoded: Encoded, asked: Attempt, decision: QuickDecision, kept: Sequence[Move], own: str
    ) -> Verdict:
        pod, num_nodes = asked.pod, len(encoded.node_names)
        reasons, rejectors = decision.reasons, decision.rejectors
        needs_search = self.may_preempt and not asked.is_preempting and self.view.has_lower_priority(pod.priority)
        if not kept and not needs_search:
            message = fit_message(num_nodes, reasons)
            return Verdict(decision, message + self._without_search(asked, decision), rejectors)
        rejections = reject_beside(encoded, pod, kept, self.decider.chooser.filters)
        reasons = Counter(reason for rejection in rejections.values() for reason in rejection.reasons)
        rejectors = frozenset(rejection.filter for rejection in rejections.values())
        message = fit_message(num_nodes, reasons)
        if not needs_search:
            return Verdict(decision, message + self._without_search(asked, decision), rejectors)
        refusal = eligibility(pod, asked.preemption_policy, own, rejections, self.view.running_on)
        if refusal:
            return Verdict(decision, f"{message} preemption: {refusal}", rejectors)
        search = Search(
            names=self.decider.chooser.filters,
            running_on=self.view.running_on,
            budgets=self.budgets(),
            kept=kept,
            offset=self.rng.randrange(num_nodes),
        )
        found = preempt(encoded, pod, rejections, search)
        suffix = f" preemption: {found.message}" if found.message else ""
        return Verdict(decision, message + suffix, rejectors, found)

    def _without_search(self, asked: Attempt, decision: QuickDecision) -> str:
        """Say why nobody leaves, where that needs no search."""
        if not self.may_preempt or asked.is_preempting:
            return ""
        if asked.preemption_policy == "Never":
            return " preemption: not eligible due to preemptionPolicy=Never."
        num_nodes, num_resolvable = decision.num_nodes, decision.num_resolvable
        reasons = {NO_VICTIMS: num_resolvable, NOT_HELPFUL: num_nodes - num_resolvable}
        return f" preemption: {fit_message(num_nodes, reasons)}"
