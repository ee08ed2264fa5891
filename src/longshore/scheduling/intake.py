"""From what the watch says to what decisions read: changes in, cluster view, queue and nominations out. Pure."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from longshore.core.words.happening import Happening
from longshore.core.words.pod import Pod
from longshore.deciding.assume import ClusterView
from longshore.deciding.nominated import Nominations
from longshore.kube.cache import BUDGET, Cache, Change, ContextChange, NodeChange, PodChange
from longshore.scheduling.queue import SchedulingQueue

PREEMPTED_BY_SCHEDULER: Final = "PreemptionByScheduler"
DISRUPTION_TARGET: Final = "DisruptionTarget"
_STORAGE = ("PersistentVolume", "PersistentVolumeClaim")

_log = logging.getLogger(__name__)


class Intake:
    """Keeps the scheduler's view of the cluster up to date."""

    def __init__(
        self,
        scheduler_name: str,
        cache: Cache,
        view: ClusterView,
        queue: SchedulingQueue,
        nominations: Nominations,
        now: Callable[[], float],
    ) -> None:
        """Take the parts that are kept up to date; `now` gives seconds since the epoch, for pods not yet started."""
        self._scheduler_name, self._cache, self._now = scheduler_name, cache, now
        self._view, self._queue, self._nominations = view, queue, nominations
        self._nominated_seen: dict[str, str] = {}
        self.on_unreadable: Callable[[PodChange], None] = lambda change: None
        """Called for a pod of ours that cannot be read, or in part, so that somebody tells its owner."""
        self.on_gone: Callable[[str], None] = lambda key: None
        """Called for a pod of ours that no longer waits."""

    def start(self) -> None:
        """Take over the whole cache, once the first lists are in; pods that wait come in the order of their age."""
        self._view.put_context(**self._cache.context())
        for node in self._cache.nodes():
            self._take_node(node)
        for change in sorted(self._cache.pods(), key=lambda each: (each.created, each.key)):
            self._take_pod(change)

    def apply(self, changes: Iterable[Change]) -> None:
        """Take what has changed since, and wake the pods that it could help."""
        happening = Happening.NOTHING
        for change in changes:
            if isinstance(change, PodChange):
                happening |= self._take_pod(change)
            elif isinstance(change, NodeChange):
                happening |= self._take_node(change)
            else:
                happening |= self._take_context(change)
        if happening:
            self._queue.wake(happening)

    def _take_context(self, change: ContextChange) -> Happening:
        if change.error is not None:
            _log.warning("object passed over kind=%s: %s", change.kind, change.error)
        if change.kind == BUDGET:
            self._view.touch()  # who may be evicted can have changed
            return Happening.NOTHING
        self._view.put_object(change.before, change.after)
        return Happening.STORAGE if change.kind in _STORAGE else Happening.CONTEXT

    def _take_node(self, change: NodeChange) -> Happening:
        if change.error is not None:
            what = "node left out" if change.node is None else "annotation passed over"
            _log.warning("%s node=%s: %s", what, change.name, change.error)
        if change.node is not None:
            return self._view.put_node(change.node)
        return self._view.drop_node(change.name)

    def _take_pod(self, change: PodChange) -> Happening:
        if change.is_gone:
            return self._gone(change)
        if change.pod is None:
            return self._unreadable(change)
        if change.bound_to:
            if change.error is not None:
                _log.warning("running pod read in part pod=%s node=%s: %s", change.key, change.bound_to, change.error)
            self._no_longer_waits(change.key)
            return self._view.put_running(running(change, self._now()))
        if change.scheduler_name == self._scheduler_name:
            if change.error is not None:
                self.on_unreadable(change)
            return self._waits(change)
        return Happening.NOTHING

    def _gone(self, change: PodChange) -> Happening:
        item = self._queue.get(change.key)
        if item is not None and item.pod.uid != change.uid:
            return Happening.NOTHING
        self._no_longer_waits(change.key)
        return self._view.drop_running(change.key)

    def _unreadable(self, change: PodChange) -> Happening:
        if change.scheduler_name == self._scheduler_name:
            self._no_longer_waits(change.key)
            self.on_unreadable(change)
        return Happening.NOTHING

    def _waits(self, change: PodChange) -> Happening:
        pod, key = change.pod, change.key
        assert pod is not None
        if change.is_terminating:
            # Upstream does the same with one whose binding is under way: its room is free at once.
            self._no_longer_waits(key)
            return self._view.forget(key, change.uid)
        if self._view.is_assumed(key, change.uid) and key not in self._queue:
            return Happening.NOTHING  # bound a moment ago; the watch tells what was before that
        self._queue.put(pod)
        before, now = self._nominated_seen.get(key, ""), change.nominated_node
        if now:
            self._nominated_seen[key] = now
        else:
            self._nominated_seen.pop(key, None)
        if self._view.is_assumed(key, change.uid):
            return Happening.NOTHING  # its binding is under way: with its nomination it would count twice
        # Where the watch has shown no nomination so far, the one decided here may only not have arrived yet.
        nominated = self._nominations.node_of(key)
        node = now if before or now else nominated
        if node or nominated:
            self._nominations.put(pod, node)
        if nominated and nominated != node:
            self._queue.wake(Happening.POD_DELETED, at_most_priority=pod.priority)
        return Happening.NOTHING

    def _no_longer_waits(self, key: str) -> None:
        item = self._queue.drop(key)
        self._nominated_seen.pop(key, None)
        if self._nominations.drop(key):
            priority = None if item is None else item.pod.priority
            self._queue.wake(Happening.POD_DELETED, at_most_priority=priority)
        self.on_gone(key)


def running(change: PodChange, now: float) -> Pod:
    """Return a bound pod with what preemption reads of it."""
    assert change.pod is not None
    is_being_preempted = change.is_terminating and any(
        condition.type == DISRUPTION_TARGET
        and condition.status == "True"
        and condition.reason == PREEMPTED_BY_SCHEDULER
        for condition in change.conditions
    )
    started = now if change.started is None else change.started
    return replace(change.pod, started=started, is_being_preempted=is_being_preempted)
