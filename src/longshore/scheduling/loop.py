"""The live loop: pods from the queue, decisions from the cache, bindings to the API server. One event loop, no threads.

Deciding is synchronous and takes about a millisecond; everything that waits for the API server is a task of its own.
Between slices of decisions the event loop gets air, so that what the watch says is taken in and bindings are sent.
Per pod there is one call to the API server on the way, the binding, and one beside it, the event.
"""

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

import msgspec

from longshore.core.words.decision import Decision
from longshore.core.words.happening import Happening
from longshore.core.words.pod import Pod
from longshore.deciding.cycle import Cycle
from longshore.deciding.preempt import Preemption
from longshore.kube import annotations, writes
from longshore.kube.cache import Cache, PodChange
from longshore.kube.client import Client
from longshore.scheduling.binder import Binder, BindResult, Fate
from longshore.scheduling.evict import Evictor
from longshore.scheduling.intake import Intake
from longshore.scheduling.metrics import SchedulerMetrics
from longshore.scheduling.pending import PendingReports
from longshore.scheduling.points import AFTER_ASSUME, Pass, go_on
from longshore.scheduling.queue import Place, SchedulingQueue, Waiting
from longshore.scheduling.recorder import EventRecorder, PodEvent
from longshore.scheduling.rest import Rest
from longshore.scheduling.status_writer import StatusWriter
from longshore.store.decisions import DecisionLog

MAX_BINDS_IN_FLIGHT = 64
SLOT_SECONDS = 1.0
"""A binding that takes longer counts no longer as one of those: some that hang must not stop the others."""
MAX_SLOW_BINDS = 256
"""With so many bindings under way, the slow ones among them, nothing is decided: the server cannot be reached."""
SLICE_SECONDS = 0.005
"""How long decisions may follow each other before the event loop gets air."""
SEARCH_SECONDS = 0.005
SEARCH_SHARE = 0.25
"""How long a search for victims may go on before the event loop gets air, and its share of the loop's time."""
MAX_REFUSALS = 10_000
MAX_SPARED_SECONDS = 60.0
"""A pod that the API server did not let go is left alone for 2 s, then 4 s, 8 s … and at most so long."""
DOUBT_SECONDS = 0.1
"""How often a scheduler whose lease has run out looks whether it was renewed after all."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """What the loop is put together from."""

    client: Client
    cache: Cache
    cycle: Cycle
    queue: SchedulingQueue
    scheduler_name: str
    reporter: writes.Reporter
    metrics: SchedulerMetrics
    log: DecisionLog | None = None
    failpoint: Pass = go_on
    clock: Callable[[], float] = time.monotonic
    """As the queue's."""


class Scheduler:
    """Decides and binds until it is told to stop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._view, self._queue = parts.cycle.view, parts.queue
        self._nominations = parts.cycle.nominations
        self.recorder = EventRecorder(parts.client, parts.reporter)
        self._statuses = StatusWriter(parts.client)
        self._pending = PendingReports(self._statuses, self.recorder, parts.clock)
        self._evictor = Evictor(parts.client, self.recorder, parts.scheduler_name, self._may_go_on)
        self._binder = Binder(parts.client, self._may_bind, parts.failpoint, clock=parts.clock)
        self.intake = Intake(
            parts.scheduler_name, parts.cache, self._view, self._queue, self._nominations, now=time.time
        )
        self.intake.on_unreadable = self._unreadable
        self.intake.on_gone = self._gone
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots: set[asyncio.TimerHandle] = set()
        self._binding_since: dict[asyncio.TimerHandle, float] = {}
        self._searching: deque[Waiting] = deque()
        self._search_rest = Rest(SEARCH_SHARE, parts.clock)
        self._preempting: set[str] = set()
        self._refusals: Counter[str] = Counter()
        self._wakened = asyncio.Event()
        self._is_running = False
        self._is_stopping = False
        self._has_lost_lead = False
        self.leads: Callable[[], bool] = lambda: True
        """Says whether the lease is ours and cannot have run out: nothing is decided, bound or evicted without it. A
        process that was stopped for longer than the lease lasts must not go on where it was."""
        self.num_bound = 0
        """Pods that this process has bound."""

    def wake(self) -> None:
        """Look at the queue again: something has changed."""
        self._wakened.set()

    def oldest_bind_seconds(self) -> float:
        """Say how long the oldest binding has been under way; 0 = there is none."""
        began = list(self._binding_since.values())  # a copy: the page of metrics is made in another thread
        return self._parts.clock() - began[0] if began else 0.0

    def num_workers(self) -> dict[str, int]:
        """Say how many tasks that send events and statuses are alive."""
        return {"events": self.recorder.num_workers, "statuses": self._statuses.num_workers}

    async def run(self) -> None:
        """Decide until `stop` is called; then end after the bindings that are under way."""
        self.recorder.start()
        self._statuses.start()
        self._is_running = True
        for pod in self._parts.cache.pods():
            if pod.error is not None and not pod.bound_to and pod.scheduler_name == self._parts.scheduler_name:
                self._unreadable(pod)
        while not self._is_stopping:
            if not self.leads():
                await asyncio.sleep(DOUBT_SECONDS)
                continue
            self._queue.tick()
            self._decide_slice()
            self._search_slice()
            self._show_pending()
            if self._queue.peek() is not None and self._has_slot():
                await asyncio.sleep(0)
            else:
                await self._wait()

    def stop(self) -> None:
        """Take no further decision."""
        self._is_stopping = True
        self._wakened.set()

    async def finish(self, timeout_seconds: float = 15.0) -> None:
        """Wait for what is under way, and say what there is to say."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_seconds)
        await asyncio.gather(self.recorder.close(), self._statuses.close())
        await self._cancel()

    async def abandon(self) -> None:
        """Stop at once: somebody else decides by now."""
        self._has_lost_lead = True
        self.stop()
        await self._cancel()
        await asyncio.gather(self.recorder.close(0.0), self._statuses.close(0.0))

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait(self) -> None:
        """Sleep until a binding ends, the watch brings something, or a backoff is over."""
        due = self._queue.next_tick()
        seconds = None if due is None else max(0.0, due - self._parts.clock())
        if self._searching and self._has_slot():  # without one, the end of a binding wakes
            seconds = min(self._search_rest.seconds(), math.inf if seconds is None else seconds)
        self._wakened.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wakened.wait()
        except TimeoutError:
            pass

    def _decide_slice(self) -> None:
        ends = time.perf_counter() + SLICE_SECONDS
        while self._has_slot() and not self._is_stopping:
            item = self._queue.pop()
            if item is None:
                return
            if not self._try(item):
                self._searching.append(item)
                return  # it is its turn before those of lower priority
            if time.perf_counter() >= ends:
                return

    def _try(self, item: Waiting, search_seconds: float = 0.0) -> bool:
        """Make one attempt; say whether it is over."""
        try:
            return self._decide(item, search_seconds)
        except Exception as error:  # noqa: BLE001 (a pod that cannot be decided on must not end the scheduler for all)
            _log.exception("attempt failed pod=%s", item.pod.key)
            self._parts.cycle.give_up(item.pod.uid)
            self._failed(item, f"{type(error).__name__}: {error}")
            return True

    def _search_slice(self) -> None:
        """Go on with the search for victims that began first, as far as its share of the loop goes."""
        if self._searching and self._search_rest.seconds() == 0 and self._has_slot():
            item = self._searching[0]
            with self._search_rest:
                is_over = self._try(item, SEARCH_SECONDS)
            if is_over:
                self._searching.popleft()

    def _has_slot(self) -> bool:
        return len(self._slots) < MAX_BINDS_IN_FLIGHT and len(self._binding_since) < MAX_SLOW_BINDS

    def _decide(self, item: Waiting, search_seconds: float) -> bool:
        """Make one attempt and act on it; say whether it is over. It is not while victims are looked for."""
        pod, started, cpu_started = item.pod, time.perf_counter(), time.thread_time()
        known = self._parts.cache.pod(pod.key)
        if known is None or known.uid != pod.uid or known.bound_to:
            self._parts.cycle.give_up(pod.uid)
            if self._queue.get(pod.key) is item:
                self._queue.drop(pod.key)  # the watch was faster
            return True
        in_doubt = self._view.running(pod.key)
        if in_doubt is not None and self._view.is_assumed(pod.key, pod.uid):
            # The same binding again: the server takes it at most once, and says where the pod is if it has a node.
            self._spawn(self._bind(item, in_doubt, None, started, "", self._take_slot()))
            return True
        following = self._queue.peek()
        decision, preemption = self._parts.cycle.attempt(
            pod,
            None if following is None else following.pod,
            known.preemption_policy,
            is_preempting=pod.uid in self._preempting,
            search_seconds=search_seconds,
        )
        if preemption is not None and preemption.is_unfinished:
            return False
        seconds = time.perf_counter() - started
        self._parts.metrics.decided(seconds, time.thread_time() - cpu_started)
        if decision.fallback_reason is not None:
            self._parts.metrics.fell_back(decision.fallback_reason.partition(":")[0])
        record = self._record(item, decision, seconds)
        if decision.node is None:
            self._no_node(item, known, decision, preemption, started)
            return True
        placed = self._view.assume(pod, decision.node, decision.devices, time.time())
        # From here on it counts as placed; with its nomination it would count twice.
        nominated = self._nominations.drop(pod.key)
        if nominated and nominated != decision.node:
            self._queue.wake(Happening.POD_DELETED, at_most_priority=pod.priority)
        self._parts.failpoint(AFTER_ASSUME)
        self._spawn(self._bind(item, placed, record, started, nominated, self._take_slot()))
        return True

    def _may_bind(self, pod: Pod) -> bool:
        """Say whether a binding is still to be sent: the node can be gone, the pod, or the lead."""
        is_here = pod.bound_to in self._view.nodes and self._view.is_assumed(pod.key, pod.uid)
        return is_here and self._may_go_on()

    def _may_go_on(self) -> bool:
        """Say whether this process still leads; otherwise somebody else decides by now."""
        return not self._has_lost_lead and self.leads()

    async def _bind(
        self,
        item: Waiting,
        pod: Pod,
        record: str | None,
        started: float,
        nominated: str,
        slot: asyncio.TimerHandle,
    ) -> None:
        metrics, sent = self._parts.metrics, time.perf_counter()
        metrics.bind_started()
        notes = None
        if pod.gpu_devices is not None:
            notes = {annotations.GPU_DEVICES: ",".join(map(str, pod.gpu_devices))}
        try:
            await self._statuses.settle(pod.key)
            bound = await self._binder.bind(pod, notes)
        except Exception as error:  # noqa: BLE001 (somebody has to answer for the pod)
            _log.exception("binding failed pod=%s", pod.key)
            bound = BindResult(Fate.IN_DOUBT, f"{type(error).__name__}: {error}")
        finally:
            metrics.bind_ended()
            slot.cancel()
            del self._binding_since[slot]
            self._leave_slot(slot)
        now = time.perf_counter()
        if bound.fate is Fate.BOUND:
            self._bound(item, pod)
            metrics.attempted("scheduled", now - started)
        else:
            self._not_bound(item, pod, bound, nominated)
            metrics.attempted("error", now - started)
        if self._parts.log is not None and record is not None:
            is_bound = bound.fate is Fate.BOUND
            self._parts.log.set_outcome(
                record, "bound" if is_bound else "bind-error", bound.message or None, round((now - sent) * 1e6)
            )

    def _take_slot(self) -> asyncio.TimerHandle:
        """Count a binding as under way, and for its first second as one for which others wait."""
        slot: asyncio.TimerHandle = asyncio.get_running_loop().call_later(SLOT_SECONDS, lambda: self._leave_slot(slot))
        self._binding_since[slot] = self._parts.clock()
        self._slots.add(slot)
        return slot

    def _leave_slot(self, slot: asyncio.TimerHandle) -> None:
        self._slots.discard(slot)
        self._wakened.set()

    def _bound(self, item: Waiting, pod: Pod) -> None:
        self.num_bound += 1
        self._parts.metrics.pod_scheduled(item.attempts, self._parts.clock() - item.arrived)
        if self._queue.get(pod.key) is item:
            self._queue.drop(pod.key)
        self._gone(pod.key)
        note = f"Successfully assigned {pod.key} to {pod.bound_to}"
        self.recorder.record(PodEvent(pod.namespace, pod.name, pod.uid, "Scheduled", "Binding", note))

    def _not_bound(self, item: Waiting, pod: Pod, bound: BindResult, nominated: str) -> None:
        _log.info("not bound pod=%s node=%s fate=%s: %s", pod.key, pod.bound_to, bound.fate.value, bound.message)
        # One that may be bound keeps its room until it is known where it is.
        if bound.fate is not Fate.IN_DOUBT:
            self._queue.wake(self._view.forget(pod.key, pod.uid))
        if self._queue.get(pod.key) is not item:
            return
        if bound.fate is Fate.LOST:
            # Where it is bound to another node the watch says so; until then it must not be tried again.
            self._queue.drop(pod.key)
            return
        if nominated and bound.fate is not Fate.IN_DOUBT:
            self._nominations.put(item.pod, nominated)  # others left for it
        told = {Fate.REFUSED: "binding rejected", Fate.IN_DOUBT: "it is not known whether the binding took effect"}
        self._failed(item, f"{told[bound.fate]}: {bound.message}" if bound.fate in told else "")

    def _failed(self, item: Waiting, message: str) -> None:
        """Try a pod again after its backoff: an error says nothing about nodes."""
        self._queue.retry(item)
        known = self._parts.cache.pod(item.pod.key)
        if message and known is not None and known.uid == item.pod.uid:
            self._pending.report(known, "SchedulerError", message)

    def _no_node(
        self, item: Waiting, known: PodChange, decision: Decision, preemption: Preemption | None, started: float
    ) -> None:
        self._queue.fail(item, decision.rejectors)
        self._parts.metrics.attempted("unschedulable", time.perf_counter() - started)
        self._parts.metrics.queued(item.place.value, "ScheduleAttemptFailure")
        if preemption is not None:
            self._preempt(item.pod, known, preemption)
        self._pending.report(known, "Unschedulable", decision.pending_reason or "")

    def _preempt(self, pod: Pod, known: PodChange, preemption: Preemption) -> None:
        self._parts.metrics.preempted(len(preemption.victims))
        if preemption.node is None:
            if preemption.clears_nomination and self._nominations.drop(pod.key):
                self._statuses.nominate(known, "")
                self._queue.wake(Happening.POD_DELETED, at_most_priority=pod.priority)
            return
        for aside in self._nominations.of_lower_priority(preemption.node, pod.priority):
            self._nominations.drop(aside.key)
            other = self._parts.cache.pod(aside.key)
            if other is not None:
                self._statuses.nominate(other, "")
            self._queue.activate(aside.key)
        self._nominations.put(pod, preemption.node)
        self._statuses.nominate(known, preemption.node)
        self._preempting.add(pod.uid)
        self._spawn(self._evict(pod, preemption))

    async def _evict(self, pod: Pod, preemption: Preemption) -> None:
        assert preemption.node is not None
        try:
            refused = await self._evictor.evict(pod, preemption.node, preemption.victims)
        except Exception:  # noqa: BLE001 (the pod that they should leave for must not wait for ever)
            _log.exception("eviction failed for=%s", pod.key)
            refused = list(preemption.victims)
        finally:
            self._preempting.discard(pod.uid)
        if refused:
            self._spare(refused)
            self._queue.try_again(pod.key)
        self._wakened.set()

    def _spare(self, pods: Sequence[Pod]) -> None:
        """Leave pods that the server did not let go out of preemption for a while: others may be had."""
        for pod in pods:
            self._parts.cycle.spared.add(pod.uid)
            self._refusals[pod.uid] += 1
            seconds = min(2.0 ** self._refusals[pod.uid], MAX_SPARED_SECONDS)
            asyncio.get_running_loop().call_later(seconds, self._spare_no_longer, pod)
        self._view.touch()

    def _spare_no_longer(self, pod: Pod) -> None:
        self._parts.cycle.spared.discard(pod.uid)
        still_there = self._view.running(pod.key)
        if still_there is None or still_there.uid != pod.uid:
            del self._refusals[pod.uid]
            return
        if len(self._refusals) > MAX_REFUSALS:
            self._refusals.clear()  # of pods that went later; those that are there begin at 2 s again
        self._view.touch()
        self._queue.wake(Happening.POD_DELETED)
        self._wakened.set()

    def _unreadable(self, pod: PodChange) -> None:
        if not self._is_running:  # a replica that only waits tells nobody anything
            return
        if pod.pod is None:
            self._pending.report(pod, "SchedulerError", pod.error or "the pod cannot be read")
        else:
            self._pending.passed_over(pod)

    def _gone(self, key: str) -> None:
        self._statuses.forget(key)
        self._pending.forget(key)

    def _record(self, item: Waiting, decision: Decision, seconds: float) -> str | None:
        if self._parts.log is None:
            return None
        return self._parts.log.add(
            msgspec.structs.replace(
                decision,
                time_us=time.time_ns() // 1000,
                mode="standalone",
                scheduler_name=self._parts.scheduler_name,
                latency_us=round(seconds * 1e6),
                attempt=item.attempts,
            )
        )

    def _show_pending(self) -> None:
        count = self._queue.count
        self._parts.metrics.set_pending(
            count(Place.ACTIVE), count(Place.BACKOFF), count(Place.UNSCHEDULABLE), count(Place.GATED)
        )

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("a task of the scheduler failed", exc_info=task.exception())
