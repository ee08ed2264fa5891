"""What happens to the cluster in a soak: ReplicaSets that fill it, and pods, priorities and nodes that come and go."""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from longshore.kube.client import Client
from longshore.kube.errors import ApiError
from longshore.kube.reflector import Reflector, Stage, Unreadable, WatchBatch
from longshore.kube.resources import PODS
from longshore.live.kwok import NODES_PATH
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.nodes import ZONES, create_nodes, kwok_nodes
from longshore_lab.proof.faults import make_namespace
from longshore_lab.proof.load import SCHEDULER

Json = dict[str, Any]
PODS_PER_SET: Final = 100
NODE_CPU: Final = "10"
"""Twenty pods of 450m on the mean: nine tenths of it."""
DELETED_PER_SECOND: Final = 10
ROLLOUT_SECONDS: Final = 30.0
PREEMPTION_SECONDS: Final = 60.0
TURNOVER_SECONDS: Final = 20.0
_NUM_NAMESPACES: Final = 10
_NUM_BOSSES, _BOSS_CPU, _BOSS_CLASS = 20, "3", "soak-boss"
_AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
_WITH_PODS = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}


@dataclass
class Load:
    """The pods and nodes of one soak."""

    cluster: LocalCluster
    client: Client
    rng: random.Random
    namespaces: list[str] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)
    """Paths of bound pods by UID."""
    waiting: dict[str, str] = field(default_factory=dict)
    sets: list[str] = field(default_factory=list)
    """Paths of ReplicaSets."""
    nodes: list[str] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    num_failures: int = 0
    """Requests of ours that failed: the faults hit us, too."""

    async def fill(self, num_pods: int) -> None:
        """Make ReplicaSets with so many pods."""
        self.nodes = [node["metadata"]["name"] for node in kwok_nodes(self.cluster.options)]
        self.namespaces = [await make_namespace(self.client, f"soak-{i}") for i in range(_NUM_NAMESPACES)]
        boss = {"metadata": {"name": _BOSS_CLASS}, "value": 1000, "description": "preempts"}
        await self.client.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body=boss)
        for _ in range(max(num_pods // PODS_PER_SET, 1)):
            self.sets.append(await self._create_set(min(PODS_PER_SET, num_pods)))

    async def churn(self) -> None:
        """Delete and make things for ever; ends only by being cancelled."""
        async with asyncio.TaskGroup() as group:
            for seconds, work in (
                (1.0, self._delete_some),
                (ROLLOUT_SECONDS, self._roll_out),
                (PREEMPTION_SECONDS, self._preempt),
                (TURNOVER_SECONDS, self._exchange_node),
            ):
                group.create_task(self._every(seconds, work))

    def deliver(self, batch: WatchBatch) -> None:
        """Take what the watch of pods says."""
        if batch.stage is Stage.LIST_BEGINS:
            self.bound.clear()
            self.waiting.clear()
        for kind, pod in batch.events:
            if isinstance(pod, Unreadable) or pod.metadata.namespace not in self.namespaces:
                continue
            uid = pod.metadata.uid
            for known in (self.bound, self.waiting):
                known.pop(uid, None)
            if kind != "DELETED":
                place = self.bound if pod.spec.node_name else self.waiting
                place[uid] = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except ApiError:
                self.num_failures += 1

    async def _delete_some(self) -> None:
        paths = self.rng.sample(list(self.bound.values()), min(DELETED_PER_SECOND, len(self.bound)))
        await asyncio.gather(*(self._delete(path, _AT_ONCE) for path in paths))

    async def _roll_out(self) -> None:
        """Put another ReplicaSet in the place of one: another kind of pods."""
        old = self.sets.pop(self.rng.randrange(len(self.sets)))
        await self._delete(old, _WITH_PODS)
        self.sets.append(await self._create_set(PODS_PER_SET))

    async def _preempt(self) -> None:
        """Let important pods come for which others have to leave, and go again."""
        bosses = await self._create_set(_NUM_BOSSES, priorityClassName=_BOSS_CLASS, cpu=_BOSS_CPU)
        await asyncio.sleep(PREEMPTION_SECONDS / 2)
        await self._delete(bosses, _WITH_PODS)

    async def _exchange_node(self) -> None:
        """Take a node away with its pods, and bring another."""
        gone = self.nodes.pop(self.rng.randrange(len(self.nodes)))
        await self._delete(f"{NODES_PATH}/{gone}", None)
        (node,) = kwok_nodes(msgspec.structs.replace(self.cluster.options, nodes=1))
        name = f"later-{next(self.numbers)}"
        node["metadata"] |= {"name": name, "labels": node["metadata"]["labels"] | {"kubernetes.io/hostname": name}}
        await create_nodes(self.client, [node])
        self.nodes.append(name)

    async def _create_set(self, replicas: int, cpu: str = "", **spec: Any) -> str:
        number = next(self.numbers)
        namespace, name = self.namespaces[number % len(self.namespaces)], f"set-{number}"
        labels = {"app": name}
        container = {"name": "c", "image": f"image:{number % 20}", "resources": {"requests": self._size(cpu)}}
        spec |= {"schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 1, "containers": [container]}
        # Wishes and no conditions: however full the cluster is, every pod has a place in the end.
        if number % 3 == 1:
            spec["affinity"] = _wish_for(ZONES[number % len(ZONES)])
        elif number % 3 == 2:
            spec["topologySpreadConstraints"] = [_spread(labels)]
        template = {"metadata": {"labels": labels}, "spec": spec}
        wanted = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": name}, "spec": wanted}
        path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        await self.client.request("POST", path, body=body)
        return f"{path}/{name}"

    def _size(self, cpu: str) -> dict[str, str]:
        return {"cpu": cpu or f"{self.rng.randrange(300, 601, 50)}m", "memory": "256Mi"}

    async def _delete(self, path: str, options: Json | None) -> None:
        with contextlib.suppress(ApiError):  # it was gone, or a fault is on: others will be
            await self.client.request("DELETE", path, body=options)


def _wish_for(zone: str) -> Json:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    wish = {"weight": 50, "preference": {"matchExpressions": [expression]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


def _spread(labels: dict[str, str]) -> Json:
    return {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }


@contextlib.asynccontextmanager
async def loading(cluster: LocalCluster, client: Client, seed: int) -> AsyncIterator[Load]:
    """Give a load that sees its pods."""
    load = Load(cluster, client, random.Random(seed))
    reflector = Reflector(client, PODS, load.deliver)
    task = asyncio.create_task(reflector.run())
    try:
        yield load
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
