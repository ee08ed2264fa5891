"""The pods that wait for a decision, in upstream's order and with upstream's patience. Pure: the clock is an argument.

A pod is in one of five places: `active` (will be decided on, the highest priority first, then who came first),
`backoff` (failed a moment ago, waits 1 s, 2 s, 4 s … 10 s), `unschedulable` (waits until something happens that could
help, at most 5 minutes), `gated` (scheduling gates), or in flight (popped, not yet answered for). Every step is
O(log n): heap entries that have become void are left in the heap and skipped when they surface.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from longshore.core.words.happening import Happening
from longshore.core.words.pod import Pod
from longshore.deciding.helping import could_help

INITIAL_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 10.0
MAX_UNSCHEDULABLE_SECONDS = 300.0
"""Upstream's podInitialBackoffSeconds, podMaxBackoffSeconds and podMaxInUnschedulablePodsDuration."""


class Place(Enum):
    """Where a waiting pod is; the values are the labels of upstream's `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"


@dataclass(slots=True)
class Waiting:
    """A pod in the queue, with what happened to it so far."""

    pod: Pod
    arrived: float
    """When it came to the queue first, by the queue's clock."""
    place: Place = Place.ACTIVE
    attempts: int = 0
    failures: int = 0
    """Attempts that found no node, since the pod came."""
    errors: int = 0
    """Attempts in a row that ended by an error, such as a binding that was refused."""
    failed_at: float = 0.0
    rejectors: frozenset[str] = frozenset()
    """The filters that rejected nodes at the last attempt: they say which events could help."""
    ticket: int = field(default=0, repr=False)
    """The heap entry that is valid for it."""


class SchedulingQueue:
    """Who is decided on next."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start empty; `now` returns seconds that never run backwards."""
        self._now = now
        self._items: dict[str, Waiting] = {}
        self._active: list[tuple[int, int, str]] = []
        self._backoff: list[tuple[float, int, int, str]] = []
        self._tickets = itertools.count(1)
        # Insertion order = order of failure, so that the oldest is found without a search.
        self._unschedulable: dict[str, None] = {}
        self._rejected_by: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._counts = dict.fromkeys(Place, 0)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def count(self, place: Place) -> int:
        """Say how many pods are in a place."""
        return self._counts[place]

    def get(self, key: str) -> Waiting | None:
        """Return what is known of a waiting pod."""
        return self._items.get(key)

    def put(self, pod: Pod) -> None:
        """Take a new pod, or the new version of one that waits.

        A pod in flight only gets its new version: whoever has it answers for it. One in the unschedulable place is
        tried again if what changed is about scheduling (labels, requests, tolerations …), after its backoff. A pod of
        the same name and another UID is another pod.
        """
        item = self._items.get(pod.key)
        if item is not None and item.pod.uid != pod.uid:
            self.drop(pod.key)
            item = None
        if item is None:
            item = self._items[pod.key] = Waiting(pod, self._now())
            self._counts[item.place] += 1
            self._enter(item, Place.GATED if pod.scheduling_gates else Place.ACTIVE)
            return
        before, item.pod = item.pod, pod
        if item.place is Place.IN_FLIGHT:
            return
        if pod.scheduling_gates:
            self._enter(item, Place.GATED)
        elif item.place is Place.GATED:
            self._enter(item, Place.ACTIVE)
        elif item.place is Place.UNSCHEDULABLE and _is_other(before, pod):
            self._try_again(item)
        elif item.place is Place.ACTIVE and before.priority != pod.priority:
            self._enter(item, Place.ACTIVE)

    def drop(self, key: str) -> Waiting | None:
        """Forget a pod that was deleted, or bound by whomever."""
        item = self._items.pop(key, None)
        if item is not None:
            self._leave(item)
            self._counts[item.place] -= 1
        return item

    def pop(self) -> Waiting | None:
        """Take the pod to decide on next; it is in flight until `drop`, `fail` or `retry` answers for it."""
        item = self.peek()
        if item is None:
            return None
        heapq.heappop(self._active)
        item.attempts += 1
        self._enter(item, Place.IN_FLIGHT)
        return item

    def peek(self) -> Waiting | None:
        """Return the pod that `pop` would return."""
        while self._active:
            _, ticket, key = self._active[0]
            item = self._items.get(key)
            if item is not None and item.ticket == ticket and item.place is Place.ACTIVE:
                return item
            heapq.heappop(self._active)
        return None

    def fail(self, item: Waiting, rejectors: Iterable[str]) -> None:
        """Put a pod back for which no node was found.

        Args:
            item: as `pop` returned it.
            rejectors: the filters that rejected nodes. None = nobody knows what would help: it is tried again after
                its backoff.
        """
        if not self._is_mine(item):
            return
        item.failures, item.errors, item.failed_at = item.failures + 1, 0, self._now()
        item.rejectors = frozenset(rejectors)
        if item.pod.scheduling_gates:
            self._enter(item, Place.GATED)
        elif not item.rejectors:
            self._enter(item, Place.BACKOFF)
        else:
            self._enter(item, Place.UNSCHEDULABLE)

    def retry(self, item: Waiting) -> None:
        """Put a pod back after an error that says nothing about nodes; it is tried again after its backoff."""
        if not self._is_mine(item):
            return
        item.errors, item.failed_at, item.rejectors = item.errors + 1, self._now(), frozenset()
        self._enter(item, Place.GATED if item.pod.scheduling_gates else Place.BACKOFF)

    def activate(self, key: str) -> None:
        """Decide on a pod as soon as it is its turn, whatever it waits for but gates."""
        item = self._items.get(key)
        if item is not None and item.place in (Place.BACKOFF, Place.UNSCHEDULABLE):
            self._enter(item, Place.ACTIVE)

    def try_again(self, key: str) -> None:
        """Decide on a pod again after its backoff, whatever it waits for but gates."""
        item = self._items.get(key)
        if item is not None and item.place is Place.UNSCHEDULABLE:
            self._try_again(item)

    def wake(self, happening: Happening, at_most_priority: int | None = None) -> int:
        """Try the unschedulable pods again that something could have helped; return how many.

        Args:
            happening: what has changed in the cluster.
            at_most_priority: only pods up to that priority; None = all.
        """
        keys: dict[str, None] = {}
        for rejector in [name for name in self._rejected_by if could_help(happening, name)]:
            keys.update(self._rejected_by[rejector])
        num_woken = 0
        for key in keys:
            item = self._items[key]
            if at_most_priority is None or item.pod.priority <= at_most_priority:
                self._try_again(item)
                num_woken += 1
        return num_woken

    def tick(self) -> None:
        """Let those go on whose backoff is over, and those who have waited for an event too long."""
        now = self._now()
        while self._backoff and self._backoff[0][0] <= now:
            _, _, ticket, key = heapq.heappop(self._backoff)
            item = self._items.get(key)
            if item is not None and item.ticket == ticket and item.place is Place.BACKOFF:
                self._enter(item, Place.ACTIVE)
        while self._unschedulable:
            item = self._items[next(iter(self._unschedulable))]
            if item.failed_at + MAX_UNSCHEDULABLE_SECONDS > now:  # as `next_tick` says it
                break
            self._try_again(item)

    def next_tick(self) -> float | None:
        """Return when `tick` has something to do, by the queue's clock; None = only an event can change anything."""
        times = []
        if self._backoff:
            times.append(self._backoff[0][0])
        if self._unschedulable:
            times.append(self._items[next(iter(self._unschedulable))].failed_at + MAX_UNSCHEDULABLE_SECONDS)
        return min(times, default=None)

    def _try_again(self, item: Waiting) -> None:
        is_over = _backoff_end(item) <= self._now()
        self._enter(item, Place.ACTIVE if is_over else Place.BACKOFF)

    def _enter(self, item: Waiting, place: Place) -> None:
        self._leave(item)
        self._counts[item.place] -= 1
        self._counts[place] += 1
        item.place, item.ticket = place, next(self._tickets)
        key = item.pod.key
        if place is Place.ACTIVE:
            heapq.heappush(self._active, (-item.pod.priority, item.ticket, key))
        elif place is Place.BACKOFF:
            heapq.heappush(self._backoff, (_backoff_end(item), -item.pod.priority, item.ticket, key))
        elif place is Place.UNSCHEDULABLE:
            self._unschedulable[key] = None
            for rejector in item.rejectors:
                self._rejected_by[rejector][key] = None

    def _leave(self, item: Waiting) -> None:
        if item.place is not Place.UNSCHEDULABLE:
            return  # its heap entry is void as soon as the ticket or the place changes
        key = item.pod.key
        self._unschedulable.pop(key, None)
        for rejector in item.rejectors:
            self._rejected_by[rejector].pop(key, None)
            if not self._rejected_by[rejector]:
                del self._rejected_by[rejector]

    def _is_mine(self, item: Waiting) -> bool:
        return self._items.get(item.pod.key) is item and item.place is Place.IN_FLIGHT


def backoff_seconds(count: int) -> float:
    """Return how long a pod waits after so many failures: 1, 2, 4, 8, then 10 seconds."""
    if count == 0:
        return 0.0
    return float(min(INITIAL_BACKOFF_SECONDS * 2.0 ** min(count - 1, 16), MAX_BACKOFF_SECONDS))


def _backoff_end(item: Waiting) -> float:
    return item.failed_at + backoff_seconds(item.errors or item.failures)


def _is_other(before: Pod, after: Pod) -> bool:
    """Say whether two versions of a pod differ in what a decision reads."""
    return replace(before, annotations=()) != replace(after, annotations=())
