"""A live cluster that somebody places pods in by hand: watched into arrays, with bindings that are waited for."""

import asyncio
import time
from collections.abc import Callable, Iterable

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.errors import LongshoreError
from longshore.core.words.pod import Pod
from longshore.filters import static_parts
from longshore.kube import annotations, writes
from longshore.kube.cache import BUDGET, Cache, Change, NodeChange, PodChange
from longshore.kube.client import Client
from longshore.kube.reflector import Reflector, WatchBatch, run_reflectors
from longshore.kube.resources import RESOURCES

SECONDS = 30.0
"""How long the cluster may take to show what was asked of it."""


class LiveSession:
    """The cluster as it is now. All of it belongs to one event loop."""

    def __init__(self, client: Client, scheduler_name: str, nodes: frozenset[str] | None = None) -> None:
        """Take the pods' `schedulerName`, and the nodes that are looked at (None = all)."""
        self.client, self.scheduler_name = client, scheduler_name
        self.cache, self.live = Cache(), LiveCluster(static_parts())
        self._nodes = nodes
        self._is_started = False
        self._changed = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to watch, and return when the cluster is known.

        Raises:
            ApiError: it cannot be read.
        """
        reflectors = [Reflector(self.client, resource, self._deliver) for resource in RESOURCES]
        self._watch = asyncio.create_task(run_reflectors(reflectors))
        await self.until(self.cache.is_synced, "the first lists")
        self._is_started = True
        # By name, so that rows do not depend on the order of a list.
        nodes = sorted(self.cache.nodes(), key=lambda change: change.name)
        self.live.put_context(**self.cache.context())
        self._apply([*nodes, *self.cache.pods()])

    async def stop(self) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)

    async def until(self, condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
        """Wait until the watch shows something.

        Raises:
            LongshoreError: it does not in time.
        """
        if not await self.happens(condition, seconds):
            raise LongshoreError(f"{what} did not come within {seconds:g} s", "is the API server well?")

    async def happens(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until the watch shows something; return whether it did in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self._watch is not None and self._watch.done():
                self._watch.result()
            self._changed.clear()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            waits = {asyncio.create_task(self._changed.wait())} | ({self._watch} if self._watch else set())
            await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits - {self._watch}:
                wait.cancel()
        return True

    def waiting(self) -> list[PodChange]:
        """Return the pods with our `schedulerName` that want a node, the most important and oldest first."""
        found = [
            change
            for change in self.cache.pods()
            if change.pod is not None
            and change.scheduler_name == self.scheduler_name
            and not change.bound_to
            and not change.is_terminating
            and not change.pod.scheduling_gates
        ]
        return sorted(found, key=_order)

    async def bind(self, pod: Pod, node: str, devices: tuple[int, ...] | None) -> None:
        """Bind a pod and wait until the watch shows it.

        Raises:
            ApiError: the binding was refused.
        """
        notes = {annotations.GPU_DEVICES: ",".join(map(str, devices))} if devices else None
        await writes.bind(self.client, pod.namespace, pod.name, pod.uid, node, notes)

        def is_shown() -> bool:
            held = self.cache.pod(pod.key)
            return held is None or held.uid != pod.uid or bool(held.bound_to)

        await self.until(is_shown, f"the binding of `{pod.key}`")

    def _deliver(self, batch: WatchBatch) -> None:
        changes = self.cache.apply(batch)
        if self._is_started:
            self._apply(changes)
        self._changed.set()

    def _apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if isinstance(change, PodChange):
                if change.pod is not None and change.bound_to:
                    self.live.put_pod(change.pod)
                elif change.error is None:
                    self.live.drop_pod(change.key)
            elif isinstance(change, NodeChange):
                if self._nodes is not None and change.name not in self._nodes:
                    continue
                if change.node is None:
                    self.live.drop_node(change.name)
                else:
                    self.live.put_node(change.node)
            elif change.kind != BUDGET:
                self.live.put_object(change.before, change.after)


def _order(change: PodChange) -> tuple[int, float, str]:
    return (-(change.pod.priority if change.pod is not None else 0), change.created, change.key)
