"""What the edges of a large cluster cost the live scheduler: changed objects, hopeless pods, searches for victims.

A full cluster is put into the scheduler's own cache, as a watch would; the API server takes everything at once. Times
are of this process' main thread, on which everything is decided.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from longshore.core.arrays.live import LiveCluster
from longshore.deciding.assume import ClusterView
from longshore.deciding.cycle import Cycle
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_live_policy
from longshore.filters import static_parts
from longshore.kube import resources
from longshore.kube.cache import Cache
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import RESOURCES, Resource
from longshore.kube.writes import Reporter
from longshore.scheduling import loop
from longshore.scheduling.metrics import SchedulerMetrics
from longshore.scheduling.queue import SchedulingQueue
from longshore_lab.speed import edge_objects
from longshore_lab.speed.edge_objects import Json, Size

if TYPE_CHECKING:
    from longshore.kube.client import Client

MAX_CHANGE_MS: Final = 2.0
MAX_HOPELESS_MS: Final = 2.0
MAX_HOLD_MS: Final = 20.0
MAX_SHARE: Final = loop.SEARCH_SHARE
_NUM_PREEMPTORS: Final = 10
_NUM_KNOWN: Final = 500
_PATIENCE_SECONDS: Final = 120.0


class Cost(NamedTuple):
    """One row of the table."""

    what: str
    median_ms: float
    p99_ms: float
    most_ms: float
    bar_ms: float
    """For the 99th percentile of changes and attempts, and for the longest hold of a search."""
    share: float | None = None
    """Of the loop's time, while victims are looked for."""

    @property
    def is_met(self) -> bool:
        """Say whether the bar is met."""
        has_share = self.share is None or self.share <= MAX_SHARE
        return has_share and (self.p99_ms if self.share is None else self.most_ms) <= self.bar_ms


class _Server:
    """An API server that takes everything at once; who is deleted is gone a moment later."""

    def __init__(self) -> None:
        self.gone: Callable[[str], None] = lambda key: None

    async def request(self, method: str, path: str, **_: Any) -> bytes:
        """Answer a request as `kube.client.Client` does."""
        if method == "DELETE":
            namespace, name = path.split("/")[4:7:2]
            asyncio.get_running_loop().call_later(0.05, self.gone, f"{namespace}/{name}")
        return b"{}"


class Edges:
    """A scheduler with a large, full cluster in its cache."""

    def __init__(self, size: Size) -> None:
        self._cache, self._server = Cache(), _Server()
        self._server.gone = lambda key: self.drop(resources.PODS, key)
        client = cast("Client", self._server)
        self.queue = SchedulingQueue(time.monotonic)
        view = ClusterView(LiveCluster(static_parts()))
        self.cycle = Cycle(Decider(find_live_policy("kube-default")), view, budgets=self._cache.disruption_budgets)
        self.scheduler = loop.Scheduler(
            loop.Parts(
                client=client,
                cache=self._cache,
                cycle=self.cycle,
                queue=self.queue,
                scheduler_name="longshore",
                reporter=Reporter("longshore", "longshore-edges"),
                metrics=SchedulerMetrics(),
            )
        )
        self._version = 0
        self.objects: dict[str, dict[str, Json]] = {}
        for resource in RESOURCES:
            made = {_key(resource, each): each for each in edge_objects.of(resource, size)}
            self.objects[resource.kind] = made
            self._cache.apply(WatchBatch(resource, Stage.LIST_BEGINS))
            events = [self._event(resource, "ADDED", each) for each in made.values()]
            self._cache.apply(WatchBatch(resource, Stage.LIST, events))
            self._cache.apply(WatchBatch(resource, Stage.LIST_ENDS, resource_version=str(self._version)))
        self.scheduler.intake.start()
        # As after a while: pods of many applications have been decided on.
        running = list(filter(None, map(view.running, self.objects["Pod"])))
        view.live.encoded(running[:_NUM_KNOWN])
        gc.collect()
        gc.freeze()  # as `scheduling.service` does

    def put(self, resource: Resource, thing: Json) -> None:
        """Take a new object, or a new version of one, as the watch delivers it."""
        self.objects[resource.kind][_key(resource, thing)] = thing
        self._deliver(resource, "MODIFIED", thing)

    def drop(self, resource: Resource, key: str) -> None:
        """Take the end of an object."""
        thing = self.objects[resource.kind].pop(key, None)
        if thing is not None:
            self._deliver(resource, "DELETED", thing)

    def _deliver(self, resource: Resource, kind: str, thing: Json) -> None:
        batch = WatchBatch(resource, Stage.WATCH, [self._event(resource, kind, thing)])
        self.scheduler.intake.apply(self._cache.apply(batch))
        self.scheduler.wake()

    def _event(self, resource: Resource, kind: str, thing: Json) -> Event:
        self._version += 1
        versioned = thing | {"metadata": thing["metadata"] | {"resourceVersion": str(self._version)}}
        return Event(kind, msgspec.json.decode(msgspec.json.encode(versioned), type=resource.body))


def measure(size: Size, repeats: int) -> Iterator[Cost]:
    """Yield the table's rows, one after the other."""
    edges = Edges(size)
    for what, resource, change in edge_objects.CHANGES:
        some = list(edges.objects[resource.kind].values())[:: max(len(edges.objects[resource.kind]) // repeats, 1)]
        yield _cost(what, [_change(edges, resource, change(thing)) for thing in some], MAX_CHANGE_MS)
    for what, pod in edge_objects.hopeless(size):
        yield _cost(what, _attempts(edges, pod, repeats), MAX_HOPELESS_MS)
    yield from asyncio.run(_searches(edges))


def _change(edges: Edges, resource: Resource, thing: Json) -> float:
    """Take a change, and bring the arrays up to it: what is put off is paid by the next decision."""
    began = time.perf_counter()
    edges.put(resource, thing)
    edges.cycle.view.live.encoded()
    return time.perf_counter() - began


def _attempts(edges: Edges, pod: Json, repeats: int) -> list[float]:
    """Try a pod for which there is no node again and again; before each attempt another pod goes and comes."""
    edges.put(resources.PODS, pod)
    item = edges.queue.get(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
    assert item is not None
    other = next(thing for thing in edges.objects["Pod"].values() if thing["spec"].get("nodeName"))
    found = []
    for i in range(repeats + 1):
        edges.drop(resources.PODS, _key(resources.PODS, other))
        edges.put(resources.PODS, other)
        edges.cycle.view.live.encoded()
        began = time.perf_counter()
        decision, _ = edges.cycle.attempt(item.pod)
        if i:
            found.append(time.perf_counter() - began)
        assert decision.node is None
    edges.drop(resources.PODS, item.pod.key)
    return found


async def _searches(edges: Edges) -> list[Cost]:
    """Let pods look for victims, and see how long each search held the loop, and what share of its time it got."""
    holds: list[float] = []
    whole = edges.cycle.attempt

    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return whole(*arguments, **options)
        finally:
            if options.get("search_seconds"):
                holds.append(time.perf_counter() - began)

    cast("Any", edges.cycle).attempt = timed
    running = asyncio.create_task(edges.scheduler.run())
    found = []
    for what, pods in edge_objects.preemptors(_NUM_PREEMPTORS):
        holds.clear()
        began = time.perf_counter()
        for pod in pods:
            edges.put(resources.PODS, pod)
        keys = [_key(resources.PODS, pod) for pod in pods]
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while any(key in edges.queue for key in keys):
                await asyncio.sleep(0.002)
        found.append(_cost(what, holds, MAX_HOLD_MS, sum(holds) / (time.perf_counter() - began)))
    edges.scheduler.stop()
    await running
    await edges.scheduler.finish()
    return found


def _cost(what: str, seconds: list[float], bar_ms: float, share: float | None = None) -> Cost:
    ordered = sorted(1000 * each for each in seconds)
    p99 = ordered[min(int(0.99 * len(ordered)), len(ordered) - 1)]
    return Cost(what, statistics.median(ordered), p99, ordered[-1], bar_ms, share)


def _key(resource: Resource, thing: Json) -> str:
    meta = thing["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if resource.is_namespaced else str(meta["name"])
