"""One attempt to place a pod: the policy's choice, room kept for nominated pods, and preemption where none fits. Pure.

In: the cluster as it is seen now. Out: a decision, on which `scheduling.loop` acts. Nothing is bound or evicted here.
"""

import logging
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Decision, Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.assume import ClusterView
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.deciding.helping import UNSUPPORTED
from longshore.deciding.nominated import Nominations
from longshore.deciding.preempt import (
    CHANGED,
    NEVER,
    NO_VICTIMS,
    NOT_HELPFUL,
    UNFINISHED,
    Preemption,
    VictimSearch,
    eligibility,
    fit_message,
)
from longshore.deciding.trial_room import Move, fits_beside, reject_beside
from longshore.deciding.victims import Search
from longshore.kube.context import DisruptionBudget

NO_NODES = "no nodes available to schedule pods"
FALLBACK_POLICY = "kube-default"
_MOST_TOLD = 100

_log = logging.getLogger(__name__)


@dataclass
class Cycle:
    """Attempts, one after the other, on a cluster that changes between them."""

    decider: Decider
    view: ClusterView
    nominations: Nominations = field(default_factory=Nominations)
    budgets: Callable[[], Sequence[DisruptionBudget]] = tuple
    may_preempt: bool = True
    spared: set[str] = field(default_factory=set)
    """UIDs of running pods that nobody is to be evicted for: the API server did not let them go."""
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    """Draws where among the candidates a search for victims begins."""
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        policy = self.decider.policy
        self._fallback: Decider | None = None
        if policy.name != FALLBACK_POLICY:
            # Of the policy that failed the version stays: it says which bundle was to decide.
            fallback = replace(find_policy(FALLBACK_POLICY, policy.filters), version=policy.version)
            self._fallback = Decider(fallback)
        self._told: set[str] = set()
        # Pods of one spec fail alike as long as nothing changes: a full cluster with thousands of waiting pods.
        self._failed: dict[object, tuple[Decision, Preemption | None]] = {}
        self._failed_at = (-1, -1)
        self._searches: dict[str, tuple[VictimSearch, Generator[None, None, None]]] = {}

    def attempt(
        self,
        pod: Pod,
        following: Pod | None = None,
        preemption_policy: str = "",
        *,
        is_preempting: bool = False,
        search_seconds: float = math.inf,
    ) -> tuple[Decision, Preemption | None]:
        """Look for a node, and where there is none, for pods that could leave one.

        Args:
            pod: what is to be placed.
            following: the pod that will be decided on next, for policies that look ahead.
            preemption_policy: `Never`, or anything else for upstream's default.
            is_preempting: its victims are being told to leave: nobody else is to leave for it meanwhile.
            search_seconds: how long a search for victims may hold up all else. One that takes longer is unfinished, and
                the pod's next attempt goes on with it.

        Returns:
            The decision, and room that is to be made or a nomination that is to end. A decision without a node says
            in `pending_reason` why the pod waits, in the words of upstream's FailedScheduling event, and in `rejectors`
            what would have to change before another attempt makes sense; none = try again after the backoff.
        """
        ends = self.clock() + search_seconds
        began = self._searches.get(pod.uid)
        if began is not None and not self._is_over(began[1], ends):
            return self._undecided(pod, ""), UNFINISHED
        version = (self.view.version, self.nominations.version)
        if version != self._failed_at:
            self._failed, self._failed_at = {}, version
        own = self.nominations.node_of(pod.key)
        key = (pod.spec, pod.priority, pod.unmodelled, preemption_policy, is_preempting)
        known = None if own else self._failed.get(key)
        if known is not None:
            who = {"pod_namespace": pod.namespace, "pod_name": pod.name, "pod_uid": pod.uid}
            return msgspec.structs.replace(known[0], **who), known[1]
        decision, preemption = self._attempt(
            pod,
            following,
            preemption_policy,
            own,
            is_preempting=is_preempting,
            ends=ends if search_seconds > 0 else None,
        )
        if preemption is None or not preemption.is_unfinished:
            self.give_up(pod.uid)
        has_failed = decision.node is None and bool(decision.rejectors)
        is_nothing = preemption is None or not (preemption.node or preemption.is_unfinished)
        if has_failed and not own and is_nothing:
            self._failed[key] = decision, preemption
        return decision, preemption

    def give_up(self, uid: str) -> None:
        """Forget the unfinished search for a pod."""
        self._searches.pop(uid, None)

    def _attempt(
        self,
        pod: Pod,
        following: Pod | None,
        preemption_policy: str,
        own: str,
        *,
        is_preempting: bool,
        ends: float | None,
    ) -> tuple[Decision, Preemption | None]:
        encoded, kept = self._look(pod, following)
        if not encoded.node_names:
            return self._undecided(pod, NO_NODES), None
        allowed = fits_beside(encoded, pod, kept, self.decider.filters) if kept else None
        next_class = encoded.class_of(following) if following is not None else -1
        decision = self._choose(encoded, pod, next_class, allowed, own)
        if decision.node is not None:
            return decision, None
        if decision.is_held_back:
            return msgspec.structs.replace(decision, rejectors=frozenset({UNSUPPORTED})), None
        if not decision.rejectors and not decision.reasons:  # the policy prefers to wait
            return decision, None
        return self._no_room(
            *(encoded, pod, decision, kept, own, preemption_policy),
            is_preempting=is_preempting,
            ends=ends,
        )

    def _look(self, pod: Pod, following: Pod | None = None) -> tuple[Encoded, list[Move]]:
        """Return the cluster as it is now, and the nominated pods whose room is not the pod's."""
        nominated = list(self.nominations.that_count(pod)) if self.nominations else []
        waiting = [pod, *(each.pod for each in nominated)]
        if following is not None:
            waiting.append(following)
        encoded = self.view.live.encoded(waiting)
        index = encoded.node_index
        return encoded, [Move(index[each.node], each.pod) for each in nominated if each.node in index]

    def _undecided(self, pod: Pod, reason: str) -> Decision:
        policy = self.decider.policy
        return Decision(
            pod_namespace=pod.namespace,
            pod_name=pod.name,
            pod_uid=pod.uid,
            policy=policy.name,
            policy_version=policy.version,
            pending_reason=reason,
        )

    def _choose(self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None, own: str) -> Decision:
        """Take the node that the pod is nominated to if it fits there, as upstream does; else the policy's choice."""
        row = encoded.node_index.get(own, -1) if own else -1
        if row >= 0:
            only = np.zeros(len(encoded.arrays.nodes.is_real), bool)
            only[row] = allowed is None or bool(allowed[row])
            found = self._decide(encoded, pod, next_class, only)
            if found.node is not None or found.is_held_back:
                return found
        return self._decide(encoded, pod, next_class, allowed)

    def _decide(self, encoded: Encoded, pod: Pod, next_class: int, allowed: Array | None) -> Decision:
        if self._fallback is None:
            return self.decider.decide(encoded, pod, next_class, allowed)
        try:
            return self.decider.decide(encoded, pod, next_class, allowed)
        except Exception as error:  # noqa: BLE001 (whatever a policy does wrong, the pod is still placed)
            reason = f"{type(error).__name__}: {error}"
            if reason not in self._told:
                if len(self._told) >= _MOST_TOLD:  # reasons that name nodes or amounts never end
                    self._told.clear()
                self._told.add(reason)
                _log.warning(
                    "policy failed, %s decides policy=%s: %s", FALLBACK_POLICY, self.decider.policy.name, reason
                )
            decision = self._fallback.decide(encoded, pod, next_class, allowed)
            return msgspec.structs.replace(decision, fallback_reason=reason)

    def _no_room(
        self,
        encoded: Encoded,
        pod: Pod,
        decision: Decision,
        kept: Sequence[Move],
        own: str,
        preemption_policy: str,
        *,
        is_preempting: bool,
        ends: float | None,
    ) -> tuple[Decision, Preemption | None]:
        """Say why no node fits and, where that could help, look for pods that could leave one."""
        num_nodes, reasons, rejectors = len(encoded.node_names), decision.reasons, decision.rejectors
        may_preempt = self.may_preempt and not is_preempting
        is_hopeless = preemption_policy == "Never" or not (kept or own or decision.num_resolvable)
        needs_search = may_preempt and not is_hopeless and self.view.has_lower_priority(pod.priority)
        if needs_search and ends is None:
            return decision, UNFINISHED
        rejections: dict[str, Rejection] = {}
        if kept or needs_search:
            rejections = reject_beside(encoded, pod, kept, self.decider.filters)
        if kept:  # the decision does not know why there is no room beside them
            reasons = Counter(reason for rejection in rejections.values() for reason in rejection.reasons)
            rejectors = frozenset(rejection.filter for rejection in rejections.values())
        found: Preemption | None = None
        if needs_search:
            why = eligibility(pod, own, rejections, self.view.running_on)
            if not why:
                assert ends is not None
                found = self._find_victims(encoded, pod, rejections, kept, ends)
                why = found.message
                if why == CHANGED:
                    rejectors = frozenset()
        elif may_preempt:
            why = _without_search(preemption_policy, decision)
        else:
            why = ""
        message = fit_message(num_nodes, reasons) + (f" preemption: {why}" if why else "")
        # What does not fit now is no fallback's doing.
        changes = {"pending_reason": message, "rejectors": rejectors, "fallback_reason": None}
        return msgspec.structs.replace(decision, **changes), found

    def _find_victims(
        self, encoded: Encoded, pod: Pod, rejections: dict[str, Rejection], kept: Sequence[Move], ends: float
    ) -> Preemption:
        """Return what a search has found by now, or begin one."""
        began = self._searches.pop(pod.uid, None)
        if began is not None:
            return began[0].result(encoded, self._search(kept), is_fresh=False)
        offset = self.rng.randrange(len(encoded.node_names))
        search = VictimSearch(encoded, pod, rejections, self._search(kept, offset))

        def look() -> tuple[Encoded, Search]:
            now, kept_now = self._look(pod)
            return now, self._search(kept_now)

        steps = search.steps(look)
        if not self._is_over(steps, ends):
            self._searches[pod.uid] = search, steps
            return UNFINISHED
        return search.result(encoded, self._search(kept), is_fresh=True)

    def _is_over(self, steps: Generator[None, None, None], ends: float) -> bool:
        """Take at least one step, and more until the time is up; say whether it was the last."""
        return all(self.clock() < ends for _ in steps)

    def _search(self, kept: Sequence[Move], offset: int = 0) -> Search:
        return Search(
            names=self.decider.filters,
            running_on=self.view.running_on,
            budgets=self.budgets(),
            kept=kept,
            offset=offset,
            spared=self.spared,
        )


def _without_search(preemption_policy: str, decision: Decision) -> str:
    """Say why nobody leaves, where no pod has a lower priority or nobody's leaving helps."""
    if preemption_policy == "Never":
        return NEVER
    num_nodes, num_resolvable = decision.num_nodes, decision.num_resolvable
    return fit_message(num_nodes, {NO_VICTIMS: num_resolvable, NOT_HELPFUL: num_nodes - num_resolvable})
