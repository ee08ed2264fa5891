"""Preemption as upstream's DefaultPreemption does it: which pods of lower priority leave which node. Pure.

On every node where removing pods could help, its victims are looked for (`victims`). Of the nodes, the one is chosen
that breaks the fewest budgets, then the one whose most important victim has the lowest priority, …

In a large cluster that takes longer than all else may wait. So a search can be interrupted: every part of it looks at
the cluster as it is then, and the node that is chosen is asked again in the end, if anything has changed since.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from longshore.core.arrays.encode import Encoded
from longshore.core.words.decision import Rejection
from longshore.core.words.pod import Pod
from longshore.deciding.trial_room import is_node_local
from longshore.deciding.victims import Search, Victims, find_victims, finish, lower_on

MIN_CANDIDATES = 100
MIN_CANDIDATES_PERCENT = 10
"""Upstream's minCandidateNodesAbsolute and minCandidateNodesPercentage: with so many candidates, and one among them
that breaks no budget, the search ends. For pods whose constraints look at other nodes the number alone counts: each
node costs a look at all of them."""
PODS_AT_ONCE = 400
"""Nodes are tried together until they have so many pods that could leave: about two milliseconds."""
MAX_ASKED_AGAIN = 5
"""Of the nodes that a search has found, so many are asked again before another search is needed."""

_PRIORITY_OFFSET = 2**31
"""Added to every priority before summing, so that more victims of a negative priority never weigh less."""

CONFLICT = "pod affinity terms conflict"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = "not eligible due to preemptionPolicy=Never."
CHANGED = "the cluster changed while victims were looked for."


@dataclass(frozen=True, slots=True)
class Preemption:
    """What came of the search."""

    node: str | None
    """Where room is made; None = nowhere."""
    victims: tuple[Pod, ...] = ()
    """Who has to leave, the most important first."""
    num_violations: int = 0
    message: str = ""
    """Why nobody leaves, in upstream's words; empty if somebody does."""
    clears_nomination: bool = False
    """The pod cannot be helped by preemption any more: the room kept for it is free."""
    is_unfinished: bool = False
    """The search goes on; nothing is known yet."""


UNFINISHED = Preemption(None, is_unfinished=True)


class VictimSearch:
    """A search for victims that may be interrupted."""

    def __init__(self, encoded: Encoded, pod: Pod, rejections: Mapping[str, Rejection], search: Search) -> None:
        """Begin a search.

        Args:
            encoded: the cluster; it knows the class of `pod` and of the nominated pods.
            pod: the pod that no node can take.
            rejections: why, for every node.
            search: filters, running pods, budgets.
        """
        potential = [name for name, each in rejections.items() if each.is_resolvable and name in encoded.node_index]
        start = search.offset % len(potential) if potential else 0
        self._pod = pod
        self._is_local = is_node_local(encoded, encoded.class_of(pod), search.names)
        share = len(potential) * MIN_CANDIDATES_PERCENT // 100 if self._is_local else 0
        self._wanted = min(max(share, MIN_CANDIDATES), len(potential))
        self._left = chain(islice(potential, start, None), islice(potential, start))
        self._num_nodes, self._num_tried, self._reasons = len(encoded.node_names), 0, Counter[str]()
        self._found: dict[str, Victims] = {}

    def steps(self, look: Callable[[], tuple[Encoded, Search]]) -> Generator[None, None, None]:
        """Search; between any two steps the cluster may change.

        Args:
            look: returns the cluster and what else is read, as they are now.
        """
        is_over = False
        while not is_over:
            encoded, search = look()
            lower: dict[str, list[Pod]] = {}
            num_pods, at_once = 0, max(self._wanted - len(self._found), 10) if self._is_local else 1
            while num_pods < PODS_AT_ONCE and len(lower) < at_once:
                name = next(self._left, None)
                if name is None:
                    is_over = True
                    break
                if name not in encoded.node_index:
                    continue
                if pods := lower_on(name, self._pod, search):
                    lower[name] = pods
                    num_pods += len(pods)
                else:
                    num_pods += 1
                    self._count((NO_VICTIMS,))
            if lower:
                tried = yield from find_victims(encoded, self._pod, lower, search, is_local=self._is_local)
                self._found |= tried.victims
                for rejection in tried.rejections:
                    self._count(rejection.reasons)
            if len(self._found) >= self._wanted and any(each.num_violations == 0 for each in self._found.values()):
                return
            yield

    def result(self, encoded: Encoded, search: Search, *, is_fresh: bool) -> Preemption:
        """Say who leaves.

        Args:
            encoded: the cluster as it is now.
            search: what else is read.
            is_fresh: nothing has changed since the search began; otherwise the nodes that it found are asked again.
        """
        if not self._found:
            counts = {**self._reasons, NOT_HELPFUL: self._num_nodes - self._num_tried}
            return Preemption(None, message=fit_message(self._num_nodes, counts), clears_nomination=True)
        best = [(_preference(each, name), name) for name, each in self._found.items()]
        heapq.heapify(best)
        fresh = set(self._found) if is_fresh else set[str]()
        num_asked = 0
        while best:
            _, name = heapq.heappop(best)
            if name in fresh:
                pods, num_violations = self._found[name]
                return Preemption(name, tuple(pods), num_violations)
            if num_asked < MAX_ASKED_AGAIN and (again := self._ask_again(name, encoded, search)) is not None:
                self._found[name] = again
                fresh.add(name)
                heapq.heappush(best, (_preference(again, name), name))
            num_asked += 1
        return Preemption(None, message=CHANGED)

    def _ask_again(self, name: str, encoded: Encoded, search: Search) -> Victims | None:
        lower = lower_on(name, self._pod, search)
        if not lower or name not in encoded.node_index:
            return None
        steps = find_victims(encoded, self._pod, {name: lower}, search, is_local=self._is_local)
        return finish(steps).victims.get(name)

    def _count(self, reasons: Iterable[str]) -> None:
        """Take note of why no pod leaves a node; nodes that were not tried count as not helpful, as upstream has it."""
        self._num_tried += 1
        self._reasons.update(reasons)


def eligibility(
    pod: Pod,
    nominated: str,
    rejections: Mapping[str, Rejection],
    running_on: Callable[[str], Collection[Pod]],
) -> str:
    """Say why a pod may not preempt others now; empty = it may."""
    rejection = rejections.get(nominated) if nominated else None
    if rejection is not None and rejection.is_resolvable:
        for other in running_on(nominated):
            if other.priority < pod.priority and other.is_being_preempted:
                return "not eligible due to a terminating pod on the nominated node."
    return ""


def preempt(encoded: Encoded, pod: Pod, rejections: Mapping[str, Rejection], search: Search) -> Preemption:
    """Look for a node where evicting pods of lower priority makes room, in one go; arguments as `VictimSearch`'s."""
    found = VictimSearch(encoded, pod, rejections, search)
    finish(found.steps(lambda: (encoded, search)))
    return found.result(encoded, search, is_fresh=True)


def _preference(victims: Victims, name: str) -> tuple[float | str, ...]:
    """Sort nodes as upstream's pickOneNodeForPreemption; the name last, where upstream takes any."""
    pods, num_violations = victims
    highest = pods[0].priority
    started = min(other.started for other in pods if other.priority == highest)
    total = sum(other.priority + _PRIORITY_OFFSET for other in pods)
    return num_violations, highest, total, len(pods), -started, name


def fit_message(num_nodes: int, reasons: Mapping[str, int]) -> str:
    """Say why no node fits, in the words of upstream's FailedScheduling event."""
    counted = ", ".join(sorted(_counted(reason, count) for reason, count in reasons.items() if count))
    return f"0/{num_nodes} nodes are available:" + (f" {counted}." if counted else "")


def _counted(reason: str, count: int) -> str:
    """Write a reason with its nodes; upstream counts none where the pod is refused before nodes are looked at."""
    return reason if reason == CONFLICT else f"{count} {reason}"
