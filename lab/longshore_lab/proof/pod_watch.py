"""The pods of a cluster watched from the side: where each was seen bound, and what was said about it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from longshore.kube import wire
from longshore.kube.client import Client
from longshore.kube.reflector import Reflector, Stage, Unreadable, WatchBatch
from longshore.kube.resources import PODS


@dataclass
class Sighting:
    """What was seen of one pod, that is of one UID."""

    name: str
    """With its namespace."""
    nodes: list[str] = field(default_factory=list)
    """The nodes that it was bound to, in order; more than one must never be."""
    bound_at: float | None = None
    """When it was first seen bound, by the monotonic clock."""
    message: str = ""
    """What its condition says while it waits."""
    is_unschedulable: bool = False
    is_gone: bool = False


class PodWatch:
    """Sees every pod, for as long as `watching` lasts."""

    def __init__(self) -> None:
        self.sightings: dict[str, Sighting] = {}
        self._changed = asyncio.Event()
        self._unseen: set[str] = set()

    def deliver(self, batch: WatchBatch) -> None:
        """Take a batch of the watch."""
        now = time.monotonic()
        if batch.stage is Stage.LIST_BEGINS:
            self._unseen = set(self.sightings)
        for event in batch.events:
            if isinstance(event.object, Unreadable):
                continue
            self._unseen.discard(event.object.metadata.uid)
            self._take(event.kind, event.object, now)
        if batch.stage is Stage.LIST_ENDS:
            for uid in self._unseen:
                self.sightings[uid].is_gone = True
        self._changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so; False if it is not in time."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return condition()
        return True

    def of(self, uids: Iterable[str]) -> list[Sighting]:
        """Return what was seen of some pods; of one that was never seen, nothing."""
        return [self.sightings.get(uid, Sighting("")) for uid in uids]

    def num_bound(self, uids: Iterable[str]) -> int:
        """Say how many of some pods have been seen bound."""
        return sum(bool(sighting.nodes) for sighting in self.of(uids))

    def _take(self, kind: str, pod: wire.Pod, now: float) -> None:
        meta = pod.metadata
        seen = self.sightings.setdefault(meta.uid, Sighting(f"{meta.namespace}/{meta.name}"))
        node = pod.spec.node_name
        if node and (not seen.nodes or seen.nodes[-1] != node):
            seen.nodes.append(node)
            seen.bound_at = seen.bound_at or now
        for condition in pod.status.conditions or ():
            if condition.type == "PodScheduled":
                seen.is_unschedulable = condition.status == "False" and condition.reason == "Unschedulable"
                seen.message = condition.message
        seen.is_gone = kind == "DELETED"


@contextlib.asynccontextmanager
async def watching(client: Client) -> AsyncIterator[PodWatch]:
    """Watch all pods for as long as the block runs."""
    watch = PodWatch()
    reflector = Reflector(client, PODS, watch.deliver)
    task = asyncio.create_task(reflector.run())
    try:
        await reflector.synced.wait()
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
