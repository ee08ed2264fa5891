"""One episode in a live cluster: from one decision to the next, and everything between done for real.

With a workload, time is the trace's: its events are carried out one after the other as fast as the cluster takes them,
and nothing happens while somebody thinks about a decision. So the same seed and actions lead to the same episode.
Without one, the pods that wait for the scheduler's name are what there is, in real time.
"""

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from longshore.core.words.node import NodeReadings
from longshore.core.words.pod import Pod
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, Trace
from longshore.kube import writes
from longshore.kube.errors import NotFound
from longshore.live.session import LiveSession
from longshore.live.workload import objects
from longshore.live.workload.ground import NAMESPACES
from longshore.live.workload.objects import Ground

_AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}

Permit = Callable[[Pod], bool]
"""Says whether a pod that somebody else created may be placed."""


class Turn(NamedTuple):
    """A pod that waits for a decision."""

    number: int
    """Of the pod in the trace, or in the order in which pods came."""
    time: float
    pod: Pod
    following: Pod | None = None
    """The pod that will be decided on next, where that is known."""


class LiveEpisode:
    """Iterate over `turns()`; call `settled` after each with what was done."""

    def __init__(
        self, session: LiveSession, trace: Trace | None, ground: Ground, permit: Permit, wait_seconds: float
    ) -> None:
        self._session, self._trace, self._ground, self._permit = session, trace, ground, permit
        self._wait_seconds = wait_seconds
        self._time = 0.0
        self._queue: list[str] = []
        self._numbers: dict[str, int] = {}
        self._lifetimes: dict[str, float] = {}
        self._leaving: list[tuple[float, str]] = []
        self._running: set[str] = set()
        self._asked: dict[str, bool] = {}

    async def turns(self) -> AsyncIterator[Turn]:
        """Yield the decisions; between two of them the trace goes on."""
        if self._trace is None:
            async for turn in self._turns_of_others():
                yield turn
            return
        await self._begin(self._trace)
        events = list(reversed(self._trace.events))
        while events or self._leaving:
            for turn in self._waiting_others():
                yield turn
            if self._leaving and (not events or self._leaving[0][0] <= events[-1].time):
                self._time, key = heapq.heappop(self._leaving)
                pods = list(self._queue) if await self._take_away(key) else []
            else:
                self._time = events[-1].time
                pods = await self._play(events)
            for turn in self._each(pods):
                yield turn

    def settled(self, turn: Turn, *, is_placed: bool) -> None:
        """Take note of what was decided for a pod."""
        key = turn.pod.key
        if not is_placed:
            if key not in self._queue and key in self._numbers:
                self._queue.append(key)
            return
        if key in self._queue:
            self._queue.remove(key)
        if key in self._numbers:
            self._running.add(key)
            if key in self._lifetimes:
                heapq.heappush(self._leaving, (self._time + self._lifetimes[key], key))

    async def _begin(self, trace: Trace) -> None:
        """Clear away the pods of the last episode, and give the nodes this trace's latencies."""
        session, space = self._session, self._ground.namespace
        await session.client.request("DELETE", f"{NAMESPACES}/{space}/pods", body=_AT_ONCE)
        await session.until(
            lambda: not any(change.namespace == space for change in session.cache.pods()), "the end of the last pods"
        )
        words = {node.name: node.readings for node in trace.nodes if node.readings != NodeReadings()}
        order, names = list(words), session.live.encoded().node_names
        own = {self._ground.nodes.get(name, name): name for name in words}
        self._stands_for = {
            name: own.get(name, order[number % len(order)]) for number, name in enumerate(names) if order
        }
        session.live.put_readings({name: words[node] for name, node in self._stands_for.items()})
        self._readings = {name: words[node] for name, node in self._stands_for.items()}

    async def _play(self, events: list[Event]) -> list[str]:
        """Carry out what is next; return the pods to decide on: those of one moment, or all where room came free."""
        event = events.pop()
        match event:
            case Create():
                arriving = [event]
                while events and isinstance(later := events[-1], Create) and later.time == event.time:
                    arriving.append(later)
                    events.pop()
                return [await self._create(each) for each in arriving]
            case Delete(_, key):
                own = f"{self._ground.space(key.partition('/')[0])}/{key.partition('/')[2]}"
                return list(self._queue) if await self._take_away(own) else []
            case LatencyChange(_, changes):
                changed = dict(changes)
                self._readings |= {
                    name: self._readings[name]._replace(latency_ms=changed[node])
                    for name, node in self._stands_for.items()
                    if node in changed
                }
                self._session.live.put_readings(self._readings)
                return list(self._queue)
        return []  # the cluster's nodes are not touched

    async def _create(self, event: Create) -> str:
        body = objects.pod(self._ground, event.pod)
        space, name = body["metadata"]["namespace"], body["metadata"]["name"]
        key = f"{space}/{name}"
        self._numbers[key] = len(self._numbers)
        if event.lifetime is not None:
            self._lifetimes[key] = event.lifetime
        await self._session.client.request("POST", f"{NAMESPACES}/{space}/pods", body=body)
        await self._session.until(lambda: self._session.cache.pod(key) is not None, f"the pod `{key}`")
        return key

    async def _take_away(self, key: str) -> bool:
        """Delete a pod and wait until it holds no room any more; return whether it held any."""
        session = self._session
        held = session.cache.pod(key)
        if key in self._queue:
            self._queue.remove(key)
        was_running = key in self._running
        self._running.discard(key)
        if held is None:
            return was_running
        try:
            await writes.delete_pod(session.client, held.namespace, held.name, held.uid, grace_period_seconds=0)
        except NotFound:
            return was_running
        await session.until(lambda: session.cache.pod(key) is None, f"the end of `{key}`")
        return was_running

    def _each(self, keys: list[str]) -> list[Turn]:
        pods = [held.pod for key in keys if (held := self._session.cache.pod(key)) is not None and held.pod is not None]
        following: list[Pod | None] = [*pods[1:], None]
        return [Turn(self._numbers[pod.key], self._time, pod, following[place]) for place, pod in enumerate(pods)]

    def _waiting_others(self) -> list[Turn]:
        """Return pods that somebody else created and that may be placed; each is asked about once."""
        found = []
        for change in self._session.waiting():
            pod = change.pod
            if pod is None or change.key in self._numbers:
                continue
            if change.uid not in self._asked:
                self._asked[change.uid] = self._permit(pod)
            if self._asked[change.uid]:
                found.append(Turn(len(self._asked) - 1, self._time, pod))
        return found

    async def _turns_of_others(self) -> AsyncIterator[Turn]:
        started = time.monotonic()
        while await self._session.happens(lambda: bool(self._waiting_others()), self._wait_seconds):
            self._time = time.monotonic() - started
            turns = self._waiting_others()
            yield turns[0]
            if self._session.cache.pod(turns[0].pod.key) is not None and turns[0].pod in [
                one.pod for one in self._waiting_others()
            ]:
                await asyncio.sleep(1.0)  # it was deferred: nothing changes by asking at once
