"""Events for people (`kubectl describe pod`), sent beside the decisions: a bounded queue that drops rather than waits.

As upstream's broadcaster: while the API server is slow, deciding goes on, and what was not said is counted.
"""

import asyncio
import logging
import time
from collections import deque
from typing import NamedTuple

from longshore.kube import writes
from longshore.kube.client import Client
from longshore.kube.errors import ApiError

MAX_WAITING = 10_000
NUM_WORKERS = 8

_log = logging.getLogger(__name__)


class PodEvent(NamedTuple):
    """Something to say about a pod."""

    namespace: str
    name: str
    uid: str
    reason: str
    action: str
    note: str
    is_warning: bool = False
    related: writes.Reference | None = None
    object_name: str = ""
    """Of the event itself; given by the recorder."""
    num_seen: int = 1
    """More than 1: the event is there, and was seen so often by now."""


class EventRecorder:
    """Sends events in the background."""

    def __init__(self, client: Client, reporter: writes.Reporter, max_waiting: int = MAX_WAITING) -> None:
        self._client, self._reporter, self._max_waiting = client, reporter, max_waiting
        self._waiting: deque[PodEvent] = deque()
        self._wakened = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._num_sending = 0
        self.num_dropped = 0
        """Events that were not sent: too many waited, or the server did not take them."""

    def record(self, event: PodEvent) -> PodEvent:
        """Send an event when there is time; return it with its name, by which it can be repeated."""
        named = event._replace(object_name=writes.event_name(event.name, time.time()))
        self._queue(named)
        return named

    def repeat(self, event: PodEvent, num_seen: int) -> None:
        """Say how often an event was seen by now, in its series, as upstream does; no other event is made."""
        self._queue(event._replace(num_seen=num_seen))

    def _queue(self, event: PodEvent) -> None:
        if len(self._waiting) >= self._max_waiting:
            self.num_dropped += 1
            return
        self._waiting.append(event)
        self._wakened.set()

    @property
    def num_workers(self) -> int:
        """Tasks that are alive."""
        return sum(not worker.done() for worker in self._workers)

    def start(self) -> None:
        """Begin to send."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(NUM_WORKERS)]

    async def close(self, timeout_seconds: float = 2.0) -> None:
        """Send what waits, as far as the time allows, and stop."""
        ends = asyncio.get_running_loop().time() + timeout_seconds
        while (self._waiting or self._num_sending) and asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(0.01)
        self.num_dropped += len(self._waiting)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._wakened.clear()
                await self._wakened.wait()
            event = self._waiting.popleft()
            self._num_sending += 1
            try:
                await self._send(event)
            except ApiError as error:
                self.num_dropped += 1
                _log.debug("event not sent pod=%s/%s reason=%s: %s", event.namespace, event.name, event.reason, error)
            except Exception:  # noqa: BLE001 (one event must not end the worker)
                self.num_dropped += 1
                _log.exception("event not sent pod=%s/%s reason=%s", event.namespace, event.name, event.reason)
            finally:
                self._num_sending -= 1

    async def _send(self, event: PodEvent) -> None:
        if event.num_seen > 1:
            await writes.repeat_event(self._client, event.namespace, event.object_name, event.num_seen)
            return
        regarding = writes.pod_reference(event.namespace, event.name, event.uid)
        await writes.create_event(
            self._client,
            self._reporter,
            regarding,
            event.reason,
            event.action,
            event.note,
            is_warning=event.is_warning,
            related=event.related,
            name=event.object_name,
        )
