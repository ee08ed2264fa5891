"""Faults on the way between a scheduler and the API server, with pods in flight: afterwards all are bound, once.

`proxy_fault_list.FAULTS` is the list, `proxied.THROUGH` the schedulers. Who watches the pods, and who creates them,
does not go through the proxy.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import NotFound
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.proof.checker import check
from longshore_lab.proof.fault_proxy import FaultProxy, proxy_of
from longshore_lab.proof.faults import make_namespace
from longshore_lab.proof.load import delete_pods
from longshore_lab.proof.pod_watch import watching
from longshore_lab.proof.proxied import THROUGH
from longshore_lab.proof.proxy_fault_list import BINDINGS, FAULTS, STANDSTILL_SECONDS
from longshore_lab.proof.scene import Scene

MAX_RECOVERY_SECONDS: Final = 20.0
"""After the end of the fault."""
LEASE_SECONDS: Final = 15.0
"""More, where the process has ended: its lease has to run out first."""
_PODS_A_NODE, _MIN_NODES = 20, 12
_NODE_CPU = "14"
"""Of which 20 pods take 12 on average: a node that is counted wrongly is soon too full."""


@dataclass(frozen=True)
class ProxyFaultResult:
    """What came of one fault."""

    through: str
    fault: str
    pods: int
    waiting: int
    """Of these, not bound when it began: waiting, on their way, or about to be created."""
    bound: int
    bound_twice: int
    misplaced: list[str]
    """Bindings and evictions that the checker would not have done."""
    disturbed: int
    """Requests and pieces of watches that it was done to."""
    bound_meanwhile: int
    """While it lasted."""
    recovery_seconds: float
    """From its end until every pod was bound; 0 where all were before."""
    restarts: int
    """How often the process ended by itself and was started again."""
    most_bindings: int
    """Requests to bind the one pod for which most were sent."""
    excused: int = 0
    """What was right a moment before."""
    is_by_hand: bool = False
    """It stood still for a minute, and somebody started it again; the recovery counts from there."""

    @property
    def is_well(self) -> bool:
        """Say whether something was disturbed, nothing was lost, and all came right quickly enough."""
        is_whole = self.bound == self.pods and not self.bound_twice and not self.misplaced
        is_fault = self.waiting > 0 and self.disturbed > 0
        most = MAX_RECOVERY_SECONDS + (LEASE_SECONDS if self.restarts else 0.0)
        return is_whole and is_fault and self.recovery_seconds <= most

    @property
    def verdict(self) -> str:
        """Say it in a word."""
        return "well" if self.is_well else "NOT WELL"


def proxy_fault_cluster(num_pods: int, name: str | None = None) -> contextlib.AbstractContextManager[LocalCluster]:
    """Give a cluster without a scheduler that so many of the pods nearly fill."""
    name, nodes = name or f"proxy-faults-{os.getpid()}", max(num_pods // _PODS_A_NODE, _MIN_NODES)
    return temporary(ClusterOptions(name=name, nodes=nodes, node_cpu=_NODE_CPU, has_scheduler=False, has_history=True))


async def run_proxy_fault(cluster: LocalCluster, through: str, name: str, num_pods: int) -> ProxyFaultResult:
    """Let one fault happen to one scheduler, and look what is left.

    Args:
        cluster: as `proxy_fault_cluster` gives it.
        through: a key of `THROUGH`.
        name: a key of `FAULTS`.
        num_pods: pods in flight.
    """
    kind = THROUGH[through]
    async with (
        Client(load_identity(cluster.kubeconfig)) as client,
        watching(client) as watch,
        proxy_of(cluster, kind.shown) as proxy,
        contextlib.AsyncExitStack() as at_the_end,
    ):
        namespace = await make_namespace(client, f"fault-{time.time_ns() % 10**9}")
        scene = Scene(cluster, client, watch, namespace, num_pods, elects_leader=True)
        scene.open_until_the_end = at_the_end
        process = kind.make(cluster, proxy, cluster.log(namespace))
        scene.schedulers.append(process)
        try:
            await process.start(kind.says)
            happened = await FAULTS[name](scene, proxy)
            is_by_hand = not kind.heals_itself and not await scene.all_bound(seconds=STANDSTILL_SECONDS)
            if is_by_hand:
                process.kill()
                scene.is_back()
            await scene.all_bound()
            seen = scene.watch.of(scene.uids)
            report = await asyncio.to_thread(check, cluster, namespace)
            return ProxyFaultResult(
                through=through,
                fault=name,
                pods=num_pods,
                waiting=scene.num_waiting,
                bound=sum(bool(pod.nodes) and not pod.is_gone for pod in seen),
                bound_twice=sum(len(pod.nodes) > 1 for pod in seen),
                misplaced=[str(each) for each in report.shown],
                disturbed=happened.disturbed,
                bound_meanwhile=happened.bound_meanwhile,
                recovery_seconds=max(scene.recovery_seconds() - scene.outage_seconds, 0.0),
                restarts=len(process.died_at),
                most_bindings=most_bindings(proxy),
                excused=report.num_excused,
                is_by_hand=is_by_hand,
            )
        finally:
            await process.stop()
            with contextlib.suppress(NotFound):  # else the next one waits until it runs out
                await client.request("DELETE", kind.lease_path)
            await delete_pods(client, namespace)
            await client.request("DELETE", f"/api/v1/namespaces/{namespace}")


def most_bindings(proxy: FaultProxy) -> int:
    """Return how many bindings were sent for the pod for which most were."""
    sent = Counter[str]()
    for call, count in proxy.asked.items():
        if BINDINGS.has(call):
            sent[f"{call.namespace}/{call.name}"] += count
    return max(sent.values(), default=0)
