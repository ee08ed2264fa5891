"""Run a trace in a live cluster, in real time: do what it says, watch what comes of it, take everything away again."""

import asyncio
import heapq
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from longshore.core.words.node import NodeReadings
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.kube import annotations
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, NotFound
from longshore.kube.reflector import Reflector, WatchBatch, run_reflectors
from longshore.live.kwok import NODES_PATH
from longshore.live.recording import WATCHED, PodBound, Recorder, Recording, Scope
from longshore.live.workload import objects
from longshore.live.workload.ground import NAMESPACES, Wishes, clear, node_names, settle
from longshore.live.workload.objects import Ground
from longshore.live.workload.plan import Action, DropDeployment, SetReplicas, WorkloadPlan, make_plan
from longshore.live.workload.readings_file import REFRESH_SECONDS, write_readings

DEPLOYMENTS = "/apis/apps/v1/namespaces"
MERGE = "application/merge-patch+json"
_BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
_RETRY_SECONDS = (0.1, 0.3, 1.0, 3.0)
_TRY_AGAIN = (0, 429, 500, 502, 503, 504)
_SHOW_SECONDS = 0.2
_LAST_SECONDS = 1.0
_AT_ONCE = 40
_DELETIONS = (Delete, DropDeployment)


class Progress(NamedTuple):
    """How far a run is."""

    time: float
    """Seconds of the trace."""
    end: float
    created: int
    bound: int
    pending: int


@dataclass(frozen=True)
class RunOptions:
    """How a trace is run."""

    wishes: Wishes
    speed: float = 1.0
    """Seconds of the trace in a second."""
    end: float = 0.0
    """When it ends, in seconds of the trace."""
    readings: Path | None = None
    """Where latencies are written for schedulers to read."""


@dataclass(frozen=True)
class Observed:
    """What came of it."""

    recording: Recording
    namespace: str
    nodes: int
    most_behind_seconds: float
    """How late the latest action was, in real seconds."""
    is_interrupted: bool
    remarks: tuple[str, ...]


async def run_workload(
    client: Client,
    trace: Trace,
    run: RunOptions,
    *,
    stop: asyncio.Event,
    show: Callable[[Progress], None] = lambda _: None,
) -> Observed:
    """Run a trace and take away what it made, whatever happens; `stop` ends it early.

    Raises:
        InputError: it cannot be run in this cluster.
        ApiError: the cluster refuses something.
    """
    shows_latency = run.wishes.makes_nodes or run.readings is not None
    plan = make_plan(trace, has_own_nodes=run.wishes.makes_nodes, shows_latency=shows_latency)
    ground = await settle(client, trace, plan, run.wishes)
    try:
        player = _Player(client, trace, plan, ground, run)
        return await player.play(stop, show)
    finally:
        await clear(client, ground, trace)


class _Player:
    """Plays a plan."""

    def __init__(self, client: Client, trace: Trace, plan: WorkloadPlan, ground: Ground, run: RunOptions) -> None:
        self._client, self._trace, self._plan, self._ground, self._run = client, trace, plan, ground, run
        spaces = {event.pod.namespace for event in trace.events if isinstance(event, Create)} | {"default"}
        nodes = frozenset(ground.nodes.values()) if ground.nodes else None
        self._recorder = Recorder(Scope(namespaces=frozenset(map(ground.space, spaces)), nodes=nodes))
        self._synced, self._news = asyncio.Event(), asyncio.Event()
        self._started = 0.0
        self._num_seen = 0
        self._lifetimes: dict[str, float] = {}
        self._leaving: list[tuple[float, str]] = []
        self._made: dict[str, Create] = {}
        """Single pods by their keys in the cluster; one that lost its node is there again under another name."""
        self._again: dict[str, str] = {}
        self._readings: dict[str, NodeReadings] = {}
        self._stands_for: dict[str, str] = {}
        """The node of the trace whose latency a node of the cluster has."""
        self._written_at = float("-inf")
        self._behind = 0.0

    def _now(self) -> float:
        """Return the time of the trace."""
        return (time.monotonic() - self._started) * self._run.speed

    def _deliver(self, batch: WatchBatch) -> None:
        self._recorder.take(batch, self._now())
        if self._recorder.is_synced():
            self._synced.set()
        self._news.set()

    async def play(self, stop: asyncio.Event, show: Callable[[Progress], None]) -> Observed:
        watch = asyncio.create_task(
            run_reflectors([Reflector(self._client, resource, self._deliver) for resource in WATCHED])
        )
        try:
            await _first(self._synced.wait(), watch)
            names = await node_names(self._client)
            self._started = time.monotonic()
            self._recorder.start()
            self._set_first_latencies(names)
            await self._play(stop, watch, show)
            is_interrupted = stop.is_set()
            end = min(self._now(), self._run.end)
            await self._wait_for_last(stop)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        recording = self._recorder.finish(end)
        return Observed(
            recording=recording,
            namespace=self._ground.namespace,
            nodes=len(recording.trace.nodes),
            most_behind_seconds=self._behind,
            is_interrupted=is_interrupted,
            remarks=(*self._plan.remarks, *recording.remarks),
        )

    async def _play(self, stop: asyncio.Event, watch: asyncio.Task[None], show: Callable[[Progress], None]) -> None:
        waiting = list(reversed(self._plan.actions))
        while not stop.is_set():
            if watch.done():
                watch.result()
            self._take_news()
            show(self._progress())
            self._keep_readings()
            due = min(
                waiting[-1].time if waiting else self._run.end,
                self._leaving[0][0] if self._leaving else self._run.end,
                self._run.end,
            )
            now = self._now()
            if now < due:
                await self._rest((due - now) / self._run.speed, stop)
            elif due >= self._run.end and not (waiting and waiting[-1].time <= due):
                return
            elif self._leaving and self._leaving[0][0] <= due:
                await self._delete_pod(heapq.heappop(self._leaving)[1])
            else:
                self._behind = max(self._behind, (now - due) / self._run.speed)
                await self._act_together(waiting)

    async def _wait_for_last(self, stop: asyncio.Event) -> None:
        """Give pods that came at the very end the time to be bound, so that they do not count as forgotten."""
        deadline = time.monotonic() + _LAST_SECONDS
        while self._recorder.waiting and time.monotonic() < deadline and not stop.is_set():
            await self._rest(deadline - time.monotonic(), stop)

    async def _rest(self, seconds: float, stop: asyncio.Event) -> None:
        """Wait until something is due, is seen, or is told."""
        self._news.clear()
        waits = [asyncio.create_task(event.wait()) for event in (self._news, stop)]
        await asyncio.wait(waits, timeout=min(seconds, _SHOW_SECONDS), return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)

    def _take_news(self) -> None:
        """Note when pods that were bound meanwhile have to leave."""
        happened = self._recorder.happened
        for one in happened[self._num_seen :]:
            if isinstance(one, PodBound) and one.pod in self._lifetimes:
                heapq.heappush(self._leaving, (one.time + self._lifetimes[one.pod], one.pod))
        self._num_seen = len(happened)

    def _progress(self) -> Progress:
        recorder = self._recorder
        created = recorder.num_bound + len(recorder.waiting)
        return Progress(self._now(), self._run.end, created, recorder.num_bound, len(recorder.waiting))

    async def _act_together(self, waiting: list[Action]) -> None:
        """Do what is next; deletions of one moment at once, creations one after the other, in the trace's order."""
        first = waiting.pop()
        group = [first]
        while isinstance(first, _DELETIONS) and waiting and len(group) < _AT_ONCE:
            if not isinstance(waiting[-1], _DELETIONS) or waiting[-1].time != first.time:
                break
            group.append(waiting.pop())
        await asyncio.gather(*map(self._act, group))

    async def _act(self, action: Action) -> None:
        ground = self._ground
        match action:
            case SetReplicas():
                await self._set_replicas(action)
            case DropDeployment(_, key):
                await self._drop_deployment(*self._place(key))
            case Create():
                await self._create_pod(action)
            case Delete(_, key):
                own = "/".join(self._place(key))
                await self._delete_pod(self._again.get(own, own))
            case LatencyChange(_, changes):
                await self._set_latencies(dict(changes))
            case NodeFail(_, node) | NodeDrain(_, node) | NodeJoin(_, node):
                await self._change_node(action, ground.nodes[node])

    async def _set_replicas(self, action: SetReplicas) -> None:
        space, name = self._place(action.deployment)
        if not action.is_new:
            path = f"{DEPLOYMENTS}/{space}/deployments/{name}"
            await self._send("PATCH", path, {"spec": {"replicas": action.replicas}}, MERGE)
            return
        replica_set = (self._plan.selectors or {})[action.deployment]
        body = objects.deployment(self._ground, name, action.template, replica_set, action.replicas)
        await self._send("POST", f"{DEPLOYMENTS}/{space}/deployments", body)

    async def _drop_deployment(self, space: str, name: str) -> None:
        """Delete a Deployment, and have its ReplicaSets delete their pods: the garbage collector would take seconds."""
        own = f"{name}-"
        replica_sets = {
            change.pod.spec.owner.name
            for change in self._recorder.cache.pods()
            if change.namespace == space and change.pod is not None and change.pod.spec.owner is not None
        }
        await self._send("DELETE", f"{DEPLOYMENTS}/{space}/deployments/{name}", _BACKGROUND)
        for replica_set in sorted(replica_sets):
            if replica_set.startswith(own) and "-" not in replica_set.removeprefix(own):
                path = f"{DEPLOYMENTS}/{space}/replicasets/{replica_set}"
                await self._send("PATCH", path, {"spec": {"replicas": 0}}, MERGE)

    async def _create_pod(self, event: Create) -> None:
        space = self._ground.space(event.pod.namespace)
        key = f"{space}/{event.pod.name}"
        self._made[key] = event
        if event.lifetime is not None:
            self._lifetimes[key] = event.lifetime
        await self._send("POST", f"{NAMESPACES}/{space}/pods", objects.pod(self._ground, event.pod))

    async def _delete_pod(self, key: str) -> None:
        self._made.pop(key, None)
        space, _, name = key.partition("/")
        await self._send("DELETE", f"{NAMESPACES}/{space}/pods/{name}", {"apiVersion": "v1", "kind": "DeleteOptions"})

    async def _change_node(self, action: NodeFail | NodeDrain | NodeJoin, name: str) -> None:
        """Do to a node that the workload made what the trace says; its single pods start again under other names."""
        path = f"{NODES_PATH}/{name}"
        if isinstance(action, NodeJoin):
            word = next(node for node in self._trace.nodes if node.name == action.node)
            await self._send("POST", NODES_PATH, objects.node(self._ground, word), may_exist=True)
            await self._send("PATCH", path, {"spec": {"unschedulable": None}}, MERGE)
            return
        if isinstance(action, NodeDrain):
            await self._send("PATCH", path, {"spec": {"unschedulable": True}}, MERGE)
        for change in [change for change in self._recorder.cache.pods() if change.bound_to == name]:
            lost = self._made.get(change.key)
            await self._delete_pod(change.key)
            if lost is not None:
                await self._start_again(change.key, lost)
        if isinstance(action, NodeFail):
            await self._send("DELETE", path, _BACKGROUND)

    async def _start_again(self, key: str, lost: Create) -> None:
        first = next((own for own, later in self._again.items() if later == key), key)
        again = replace(lost.pod, name=f"{lost.pod.name}-again")
        self._again[first] = f"{self._ground.space(again.namespace)}/{again.name}"
        await self._create_pod(lost._replace(pod=again))

    def _set_first_latencies(self, names: list[str]) -> None:
        """Give every node of the cluster the readings of a node of the trace: its own, or in the order of names."""
        words = {node.name: node.readings for node in self._trace.nodes if node.readings != NodeReadings()}
        if self._run.readings is None or not words:
            return
        if self._ground.nodes:
            self._stands_for = {self._ground.nodes[name]: name for name in words}
        else:
            order = list(words)
            self._stands_for = {
                name: name if name in words else order[number % len(order)] for number, name in enumerate(names)
            }
        self._readings = {name: words[node] for name, node in self._stands_for.items()}
        self._recorder.put_readings(self._readings, 0.0)

    async def _set_latencies(self, changes: dict[str, float]) -> None:
        patches = [
            self._send(
                "PATCH",
                f"{NODES_PATH}/{self._ground.nodes[node]}",
                {"metadata": {"annotations": {annotations.LATENCY_MS: f"{latency:g}"}}},
                MERGE,
            )
            for node, latency in changes.items()
            if node in self._ground.nodes
        ]
        await asyncio.gather(*patches)
        changed = {
            name: self._readings[name]._replace(latency_ms=changes[node])
            for name, node in self._stands_for.items()
            if node in changes
        }
        if changed:
            self._readings |= changed
            self._recorder.put_readings(changed, self._now())
            self._written_at = float("-inf")
            self._keep_readings()

    def _keep_readings(self) -> None:
        path = self._run.readings
        if path is not None and self._readings and time.monotonic() - self._written_at > REFRESH_SECONDS:
            write_readings(path, self._readings)
            self._written_at = time.monotonic()

    def _place(self, key: str) -> tuple[str, str]:
        space, _, name = key.partition("/")
        return self._ground.space(space), name

    async def _send(
        self, method: str, path: str, body: Any, content_type: str = "application/json", *, may_exist: bool = False
    ) -> None:
        """Send a write; again if the server is away for a moment, and done if it was done already."""
        for number, pause in enumerate((*_RETRY_SECONDS, None)):
            try:
                await self._client.request(method, path, body=body, content_type=content_type)
            except (Conflict, NotFound) as error:
                is_lost = isinstance(error, NotFound) or not (may_exist or number)
                if method == "POST" and is_lost:
                    raise
            except ApiError as error:
                if pause is None or error.status not in _TRY_AGAIN:
                    raise
                await asyncio.sleep(pause)
                continue
            return


async def _first(work: Coroutine[Any, Any, Any], watch: asyncio.Task[None]) -> None:
    """Wait for something while the watch goes on; if that fails, its error is raised."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if watch.done():
            watch.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
