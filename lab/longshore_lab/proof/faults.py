"""Faults with pods in flight: afterwards every pod is bound once, on a node that could take it, and none waits.

`FAULTS` is the list. Each fault brings its schedulers and pods, does its damage, and takes note of when. The rest is
the same for all: who was bound where is watched from the side, and what is there in the end is listed anew and
checked by the filters.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore.live.kwok import NODES_PATH
from longshore.scheduling import points
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.cluster.nodes import create_nodes, kwok_nodes
from longshore_lab.proof.checker import check
from longshore_lab.proof.held_client import HeldClient
from longshore_lab.proof.load import delete_pods
from longshore_lab.proof.own_scheduler import running_scheduler
from longshore_lab.proof.pod_watch import watching
from longshore_lab.proof.scene import ACCOUNT, Scene
from longshore_lab.proof.scheduler_process import WAITS
from longshore_lab.proof.wall_clock import WallClock

MAX_RECOVERY_SECONDS: Final = 20.0
PAUSE_SECONDS: Final = 5.0
_HELD_SECONDS = 30.0
_KWOK_SECONDS = 2.0
"""So long after its binding a pod is said to run, at most."""
_QUIET_SECONDS = 5.5
"""A binding that is not sent is tried again within 5 s: who was silent for longer has given it up."""
_RENEWAL_SECONDS = 5.0
"""Within which a lease is renewed at least twice."""
_NUM_HELD = 40
"""Bindings that are held back before a node goes; a scheduler has no more than 64 under way."""


@dataclass(frozen=True)
class FaultResult:
    """What came of one fault."""

    fault: str
    pods: int
    waiting: int
    """Of these, not bound when it happened: waiting, on their way, or about to be created."""
    bound: int
    bound_twice: int
    misplaced: list[str]
    """Bindings and evictions that the checker would not have done."""
    outage_seconds: float
    """How long the API server, etcd or the way to them was away; part of the recovery."""
    recovery_seconds: float
    """From the fault until every pod was bound."""
    excused: int = 0
    """What was right a moment before."""

    @property
    def is_well(self) -> bool:
        """Say whether nothing was lost, and quickly enough."""
        is_whole = self.bound == self.pods and not self.bound_twice and not self.misplaced and self.waiting > 0
        return is_whole and self.recovery_seconds <= MAX_RECOVERY_SECONDS


def fault_cluster(name: str | None = None) -> contextlib.AbstractContextManager[LocalCluster]:
    """Give a cluster for faults, without stock kube-scheduler; it holds some 400 of the pods."""
    name = name or f"faults-{os.getpid()}"
    return temporary(
        ClusterOptions(name=name, nodes=20, node_cpu="16", node_memory="64Gi", has_scheduler=False, has_history=True)
    )


async def run_fault(cluster: LocalCluster, fault: str, num_pods: int, *, elects_leader: bool = False) -> FaultResult:
    """Let one fault happen, and look what is left.

    Args:
        cluster: as `fault_cluster` gives it.
        fault: a key of `FAULTS`.
        num_pods: pods in flight.
        elects_leader: True: with a lease also where the fault is not about it. Who starts again then waits for its
            predecessor's to run out.
    """
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        namespace = await make_namespace(client, f"fault-{time.time_ns() % 10**9}")
        scene = Scene(cluster, client, watch, namespace, num_pods, elects_leader)
        try:
            await FAULTS[fault](scene)
            await scene.all_bound()
            report = await asyncio.to_thread(check, cluster, namespace)
            seen = watch.of(scene.uids)
            return FaultResult(
                fault=fault,
                pods=num_pods,
                waiting=scene.num_waiting,
                bound=sum(bool(pod.nodes) and not pod.is_gone for pod in seen),
                bound_twice=sum(len(pod.nodes) > 1 for pod in seen),
                misplaced=[str(each) for each in report.shown],
                outage_seconds=scene.outage_seconds,
                recovery_seconds=scene.recovery_seconds(),
                excused=report.num_excused,
            )
        finally:
            for process in scene.schedulers:
                await process.stop()
            await delete_pods(client, namespace)
            await client.request("DELETE", f"/api/v1/namespaces/{namespace}")


async def make_namespace(client: Client, name: str) -> str:
    """Make a namespace in which pods can be created."""
    await client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    if not await api.until(lambda: api.answers(client, account), 30.0):
        raise LongshoreError(f"the namespace `{name}` got no service account")
    return name


def _killed_at(point: str) -> Callable[[Scene], Awaitable[None]]:
    """Return the fault that a scheduler is killed at a point on its way, when a third of the pods has passed it."""

    async def fault(scene: Scene) -> None:
        async with scene.pods_coming():
            process = await scene.scheduler(f"{point}:{scene.num_pods // 3}")
            await scene.death(process)

    return fault


async def _killed_during_relist(scene: Scene) -> None:
    # No pod is there at the first list, so the point is passed at the second. The scheduler stands still while the API
    # server starts anew, so that new pods are there when it lists. A server that starts knows no history, and yet lets
    # those go on who have missed nothing: so something else is written last.
    process = await scene.scheduler(points.DURING_RELIST)
    half = scene.num_pods // 2
    await scene.create(0, half)
    await scene.all_bound(half)
    process.pause()
    await asyncio.sleep(_KWOK_SECONDS)
    for name in ("one", "two"):
        path = f"/api/v1/namespaces/{scene.namespace}/configmaps"
        await scene.client.request("POST", path, body={"metadata": {"name": name}})
    await asyncio.to_thread(scene.cluster.restart_apiserver)
    await scene.create(half, scene.num_pods)
    process.resume()
    await scene.death(process)


async def _leader_killed(scene: Scene) -> None:
    # At a point on its way, so that a third of the pods is bound and the others are in flight.
    leader = await scene.scheduler(f"{points.AFTER_BIND}:{scene.num_pods // 3}", elects_leader=True)
    await scene.scheduler(says=WAITS, elects_leader=True)
    async with scene.pods_coming():
        await scene.death(leader)


async def _only_replica_killed(scene: Scene) -> None:
    async with scene.pods_coming():
        only = await scene.scheduler(elects_leader=True)
        only.kill()
        await scene.death(only)


async def _apiserver_restarted(scene: Scene) -> None:
    async with scene.pods_coming():
        await scene.scheduler()
        await scene.all_bound(scene.num_pods // 10)
        scene.strike()
        await asyncio.to_thread(scene.cluster.restart_apiserver)
        scene.is_back()


async def _clock_jumps(scene: Scene) -> None:
    """Move its wall clock an hour ahead, and then two minutes behind; certificates are valid at both."""
    clock, third = WallClock(scene.cluster.folder / f"{scene.namespace}.clock"), scene.num_pods // 3
    process = await scene.scheduler(environment=clock.environment, elects_leader=True)
    await scene.create(0, third)
    scene.strike()
    for seconds, first, end in ((3600, third, 2 * third), (-120, 2 * third, scene.num_pods)):
        clock.jump(seconds)
        await asyncio.sleep(_RENEWAL_SECONDS)
        await scene.create(first, end)
        await scene.all_bound(end)
    scene.is_back()
    if process.died_at:
        raise LongshoreError(f"the scheduler ended when the clock jumped: {process.said()[-1000:]}")


async def _etcd_paused(scene: Scene) -> None:
    async with scene.pods_coming():
        await scene.scheduler()
        await scene.all_bound(scene.num_pods // 10)
        scene.strike()
        scene.cluster.pause_part("etcd")
        try:
            await asyncio.sleep(PAUSE_SECONDS)
        finally:
            scene.cluster.resume_part("etcd")
        scene.is_back()


async def _node_deleted(scene: Scene) -> None:
    """Hold all bindings back, delete the node that most are for, and let the others go once nobody tries that one."""
    identity = load_identity(scene.cluster.kubeconfig_for(ACCOUNT))
    async with HeldClient(identity) as client, running_scheduler(client):
        async with scene.pods_coming():
            await _until(lambda: len(client.targets) >= min(scene.num_pods // 3, _NUM_HELD))
        scene.strike()
        name = Counter(client.targets.values()).most_common(1)[0][0]
        await scene.client.request("DELETE", f"{NODES_PATH}/{name}")
        try:
            await _until(lambda: time.monotonic() - client.tried_at[name] > _QUIET_SECONDS)
            client.is_holding = False
            scene.is_back()
            await scene.all_bound()
        finally:
            lost = [node for node in kwok_nodes(scene.cluster.options) if node["metadata"]["name"] == name]
            await create_nodes(scene.client, lost)


async def _until(condition: Callable[[], bool]) -> None:
    async def is_so() -> bool:
        return condition()

    if not await api.until(is_so, _HELD_SECONDS):
        raise LongshoreError(f"bindings were held back for {_HELD_SECONDS:g} s, and not what was waited for came")


FAULTS: Final[dict[str, Callable[[Scene], Awaitable[None]]]] = {
    "killed after a pod was assumed": _killed_at(points.AFTER_ASSUME),
    "killed before a binding was sent": _killed_at(points.BEFORE_BIND),
    "killed after a binding was answered": _killed_at(points.AFTER_BIND),
    "killed during a re-list": _killed_during_relist,
    "leader of two replicas killed": _leader_killed,
    "only replica killed, its lease runs out": _only_replica_killed,
    "API server killed and started again": _apiserver_restarted,
    "wall clock jumps ahead and back": _clock_jumps,
    f"etcd paused for {PAUSE_SECONDS:g} s": _etcd_paused,
    "node deleted between decision and binding": _node_deleted,
}
