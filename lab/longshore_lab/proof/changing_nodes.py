"""Nodes that join, go, are relabelled and cordoned while kube-scheduler with the plugin places pods.

Every pod must be bound, to a node that existed and could take it. A scheduler cannot know of a change before its watch
tells it, so a pod that is seen bound within `GRACE_SECONDS` of a change of its node is not held against it.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore.live.kwok import NODES_PATH
from longshore_lab.cluster import ClusterOptions, LocalCluster
from longshore_lab.cluster.nodes import ZONES, kwok_nodes
from longshore_lab.cluster.real.images import image_name
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.faults import make_namespace
from longshore_lab.proof.load import create_pods, delete_pods, make_pods
from longshore_lab.proof.pod_watch import PodWatch, Sighting, watching
from longshore_lab.proof.recheck import misplaced
from longshore_lab.proof.stage import Stage

Json = dict[str, Any]
GRACE_SECONDS = 3.0
"""Far more than a watch needs; but it is our own watch that sees pods bound, and on a busy machine it comes late."""
_PAUSE_SECONDS = 0.05
_PATIENCE_SECONDS = 240.0
_RUNNING_SECONDS = 60.0
_FOR_REAL = 5
"""Pods for every real node that must go to real nodes."""
REAL_PREFIX = "real-"
_MERGE = "application/merge-patch+json"
_BUSY_SHARE = 0.7
_GIVEN_UP = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_FALLBACKS = "longshore_fallback_total"
_ZONE = "topology.kubernetes.io/zone"
_KEPT_SHARE = 0.5
"""So much of the nodes stays as it is, so that pods never run out of room."""


@dataclass
class ChangingResult:
    """The outcome of a run."""

    nodes: int
    pods: int
    bound: int = 0
    bound_twice: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    """By kind: how many nodes joined, were deleted, relabelled, cordoned."""
    during_changes: int = 0
    """Pods bound at a change of their node, or whose node was given up: where they are says nothing."""
    wrong: list[str] = field(default_factory=list)
    """Pods bound to nodes that were gone, or that cannot take them."""
    ranked: int = 0
    """Pods that the plugin ranked; those with one feasible node it is not asked about."""
    fallbacks: dict[str, int] = field(default_factory=dict)
    """Pods that upstream's scores ranked, by the metric's series."""
    on_real_nodes: int = 0
    running_on_real_nodes: int = 0
    """Of these: pods whose containers run."""
    seconds: float = 0.0

    @property
    def is_well(self) -> bool:
        """Say whether every pod is where it may be, and was placed by the bundle."""
        is_running = self.running_on_real_nodes == self.on_real_nodes
        return self.bound == self.pods and is_running and not (self.bound_twice or self.wrong or self.fallbacks)


async def prove_changing_nodes(
    cluster: LocalCluster, bundle: Path, num_pods: int, seed: int = 0, *, changes: bool = True
) -> ChangingResult:
    """Place pods while nodes change, or, without changes, just place them.

    Args:
        cluster: of KWOK nodes, without a scheduler; it may have real nodes beside them, which are left alone.
        bundle: the plugin's policy.
        num_pods: how many pods; the nodes should have room for twice as many.
        seed: of what is changed.
        changes: False: nodes stay as they are.
    """
    result = ChangingResult(cluster.options.nodes + cluster.options.real_nodes, num_pods)
    plugin = PluginProcess(cluster)
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        namespace = await make_namespace(client, f"changing-{time.time_ns() % 10**9}")
        changer = _Changer(client, watch, cluster.options, random.Random(seed), result.changes)
        try:
            # How long it takes is another question, and the machine may be busy with the nodes.
            await plugin.start({"modelPath": str(bundle.resolve()), "deadline": "1s"})
            started = time.perf_counter()
            async with changer.changing() if changes else contextlib.nullcontext():
                uids = await create_pods(client, _pods(cluster.options, num_pods, namespace))
                await watch.until(lambda: watch.num_bound(uids) == num_pods, _PATIENCE_SECONDS)
            result.seconds = time.perf_counter() - started
            await _look(result, client, watch, changer, uids)
            if cluster.options.real_nodes:
                await _count_running(result, client, namespace)
            series = await plugin.metrics()
            result.ranked = int(series.get("longshore_decision_duration_seconds_count", 0))
            result.fallbacks = {
                name: int(count) for name, count in series.items() if name.startswith(_FALLBACKS) and count
            }
        finally:
            plugin.stop()
            await delete_pods(client, namespace)
            await client.request("DELETE", f"/api/v1/namespaces/{namespace}")
    return result


def _pods(options: ClusterOptions, count: int, namespace: str) -> list[Json]:
    """Return pods of all kinds; beside real nodes some small ones that only those take, of an image that runs there.

    The others keep off: a real node is many times smaller than a KWOK node, and for one that is nearly full, unlike any
    node of the training, a policy is rightly not asked.
    """
    pods = make_pods(count, namespace)
    if not options.real_nodes:
        return pods
    for number, pod in enumerate(pods):
        spec = pod["spec"]
        (container,) = spec["containers"]
        if number >= _FOR_REAL * options.real_nodes:
            spec["nodeSelector"] = {"type": "kwok", **spec.get("nodeSelector", {})}
            continue
        spec["nodeSelector"] = {"type": "real"}
        spec.pop("affinity", None)
        container.pop("ports", None)  # there are few real nodes
        container["resources"] = {"requests": {"cpu": "20m", "memory": "16Mi"}}
        container |= {"image": image_name("pause"), "imagePullPolicy": "Never"}
    return pods


async def _count_running(result: ChangingResult, client: Client, namespace: str) -> None:
    """Wait until the containers of all pods on real nodes run, for a while."""

    async def all_run() -> bool:
        pods = msgspec.json.decode(await client.request("GET", f"/api/v1/namespaces/{namespace}/pods"))["items"]
        real = [pod for pod in pods if pod["spec"]["nodeName"].startswith(REAL_PREFIX)]
        result.on_real_nodes = len(real)
        result.running_on_real_nodes = sum(pod["status"]["phase"] == "Running" for pod in real)
        return result.on_real_nodes == result.running_on_real_nodes

    await api.until(all_run, _RUNNING_SECONDS)


async def _look(result: ChangingResult, client: Client, watch: PodWatch, changer: "_Changer", uids: list[str]) -> None:
    """Look where all pods are."""
    items = await Stage(client).read()
    unwell = _unwell(items)
    settled: set[str] = set()
    for uid, seen in zip(uids, watch.of(uids), strict=True):
        result.bound += bool(seen.nodes)
        result.bound_twice += len(seen.nodes) > 1
        if not seen.nodes or seen.bound_at is None:
            continue
        reason = changer.why_not(seen)
        if reason is not None:
            result.wrong.append(reason)
        elif changer.is_settled(seen) and seen.nodes[-1] not in unwell:
            settled.add(uid)
        else:
            result.during_changes += 1
    result.wrong += misplaced(items, settled)


def _unwell(items: list[Json]) -> set[str]:
    """Return the nodes that the controller-manager has given up: on a busy machine a node's heartbeat may come late.

    When it did so is not known, so that pods there say nothing.
    """
    nodes = [item for item in items if item["kind"] == "Node"]
    return {
        node["metadata"]["name"]
        for node in nodes
        if any(taint["key"] in _GIVEN_UP for taint in node["spec"].get("taints", ()))
    }


class _Changer:
    """Changes one node after the other, and remembers when."""

    def __init__(
        self, client: Client, watch: PodWatch, options: ClusterOptions, draw: random.Random, done: Counter[str]
    ) -> None:
        self._client, self._watch, self._options, self._draw, self._done = client, watch, options, draw, done
        names: list[str] = [node["metadata"]["name"] for node in kwok_nodes(options)]
        self._names = draw.sample(names, int(len(names) * (1 - _KEPT_SHARE)))
        """Nodes that may change; each is deleted at most once."""
        self._changed_at: dict[str, float] = {}
        self._deleted_at: dict[str, float] = {}

    @contextlib.asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Change nodes for as long as the block runs; what is begun is also noted."""
        stop = asyncio.Event()
        task = asyncio.create_task(self._run(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    async def _run(self, stop: asyncio.Event) -> None:
        actions = {"joined": self._join, "deleted": self._delete, "relabelled": self._relabel, "cordoned": self._cordon}
        while not stop.is_set():
            kind = self._draw.choice(list(actions))
            if kind == "joined" or self._names:
                await actions[kind]()
                self._done[kind] += 1
            await asyncio.sleep(_PAUSE_SECONDS)

    def why_not(self, seen: Sighting) -> str | None:
        """Say that a pod was bound to a node that had long been gone; None = it was not."""
        deleted_at = self._deleted_at.get(seen.nodes[-1])
        if deleted_at is None or seen.bound_at is None or seen.bound_at <= deleted_at + GRACE_SECONDS:
            return None
        return f"{seen.name} was bound to {seen.nodes[-1]} {seen.bound_at - deleted_at:.2f} s after it was deleted"

    def is_settled(self, seen: Sighting) -> bool:
        """Say whether the pod's node is now as it was when the pod was bound."""
        changed_at = self._changed_at.get(seen.nodes[-1])
        return changed_at is None or (seen.bound_at or 0.0) > changed_at + GRACE_SECONDS

    def _target(self) -> str:
        """Draw a node, mostly one that pods go to: a policy that packs leaves most nodes alone."""
        used = {seen.nodes[-1] for seen in self._watch.sightings.values() if seen.nodes}
        busy = [name for name in self._names if name in used]
        return self._draw.choice(busy if busy and self._draw.random() < _BUSY_SHARE else self._names)

    async def _join(self) -> None:
        (node,) = kwok_nodes(msgspec.structs.replace(self._options, nodes=1))
        name = f"joined-{self._done['joined']}"
        labels = {"kubernetes.io/hostname": name, _ZONE: self._draw.choice(ZONES)}
        node["metadata"] |= {"name": name, "labels": node["metadata"]["labels"] | labels}
        self._changed_at[name] = time.monotonic() - GRACE_SECONDS  # it was never otherwise
        await self._client.request("POST", NODES_PATH, body=node)

    async def _delete(self) -> None:
        name = self._target()
        self._names.remove(name)
        await self._client.request("DELETE", f"{NODES_PATH}/{name}")
        self._deleted_at[name] = self._changed_at[name] = time.monotonic()

    async def _relabel(self) -> None:
        labels = {_ZONE: self._draw.choice(ZONES), "longshore.dev/proof": str(self._done["relabelled"])}
        await self._patch({"metadata": {"labels": labels}})

    async def _cordon(self) -> None:
        await self._patch({"spec": {"unschedulable": self._draw.random() < 0.5}})

    async def _patch(self, change: Json) -> None:
        name, body = self._target(), msgspec.json.encode(change)
        await self._client.request("PATCH", f"{NODES_PATH}/{name}", body=body, content_type=_MERGE)
        self._changed_at[name] = time.monotonic()
