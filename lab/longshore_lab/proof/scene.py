"""The scene of a fault: a real cluster, schedulers as processes, pods in flight, and a watch from the side."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.load import create_pods, make_pods
from longshore_lab.proof.pod_watch import PodWatch, Sighting
from longshore_lab.proof.scheduler_process import SCHEDULES, SchedulerProcess, SupervisedProcess

ACCOUNT = "longshore-scheduler"
_PATIENCE_SECONDS = 90.0


class Happened(NamedTuple):
    """What a fault says of itself, when it is over."""

    disturbed: int
    """Requests and pieces of watches that it was done to."""
    bound_meanwhile: int
    """Pods."""


@dataclass
class Scene:
    """What a fault works with, and what it takes note of."""

    cluster: LocalCluster
    client: Client
    watch: PodWatch
    namespace: str
    num_pods: int
    elects_leader: bool
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of all pods."""
    open_until_the_end: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    uids: list[str] = field(default_factory=list)
    """Of all pods that were created."""
    schedulers: list[SupervisedProcess] = field(default_factory=list)
    num_waiting: int = 0
    """Pods that were not bound when it happened: waiting, on their way, or about to be created."""
    struck_at: float = 0.0
    outage_seconds: float = 0.0
    """How long the cluster itself was away."""

    async def scheduler(
        self,
        failpoint: str = "",
        says: str = SCHEDULES,
        *,
        elects_leader: bool | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> SchedulerProcess:
        """Start a replica with the rights of `deploy/rbac.yaml`, and wait until it says something."""
        log = self.cluster.log(f"{self.namespace}-{len(self.schedulers)}")
        has_lease = self.elects_leader if elects_leader is None else elects_leader
        kubeconfig = self.cluster.kubeconfig_for(ACCOUNT)
        process = SchedulerProcess(
            kubeconfig, log, elects_leader=has_lease, failpoint=failpoint, environment=environment
        )
        self.schedulers.append(process)
        await process.start(says)
        return process

    async def create(self, first: int, end: int) -> None:
        """Create some of the pods."""
        pods = make_pods(self.num_pods, self.namespace, self.annotations)
        self.uids += await create_pods(self.client, pods[first:end])

    @contextlib.asynccontextmanager
    async def pods_coming(self) -> AsyncIterator[None]:
        """Create half of the pods, and the others beside the block; at its end all have been created."""
        half = self.num_pods // 2
        await self.create(0, half)
        task = asyncio.create_task(self.create(half, self.num_pods))
        try:
            yield
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def all_bound(self, count: int | None = None, seconds: float = _PATIENCE_SECONDS) -> bool:
        """Wait until all pods are bound, or so many; who is not after a long time is stuck, and will be counted."""
        wanted = self.num_pods if count is None else count
        return await self.watch.until(lambda: self.num_bound >= wanted, seconds)

    async def death(self, process: SupervisedProcess) -> None:
        """Wait until a scheduler has died, and take that for the moment of the fault."""
        ends = time.monotonic() + _PATIENCE_SECONDS
        while not process.died_at:
            if time.monotonic() > ends:
                raise LongshoreError(f"the scheduler was not killed: {process.said()[-1000:]}")
            await asyncio.sleep(0.005)
        self.strike(process.died_at[0])

    def strike(self, at: float | None = None) -> None:
        """Take note that it happened, and how many were bound by then."""
        self.struck_at = time.monotonic() if at is None else at
        bound = [pod for pod in self._seen().values() if pod.bound_at is not None and pod.bound_at <= self.struck_at]
        self.num_waiting = self.num_pods - len(bound)

    def is_back(self) -> None:
        """Take note that what was away since the strike is there again."""
        self.outage_seconds = time.monotonic() - self.struck_at

    def num_bound_since(self) -> int:
        """Say how many pods have been seen bound since the strike."""
        return self.num_bound - (self.num_pods - self.num_waiting)

    def recovery_seconds(self) -> float:
        """Return how long after the strike the last pod was bound; without end if one is not."""
        times = [pod.bound_at for pod in self.watch.of(self.uids)]
        return max((float("inf") if at is None else at - self.struck_at for at in times), default=0.0)

    @property
    def num_bound(self) -> int:
        """Say how many pods of this scene have been seen bound."""
        return sum(bool(pod.nodes) for pod in self._seen().values())

    def _seen(self) -> dict[str, Sighting]:
        prefix = f"{self.namespace}/"
        return {uid: pod for uid, pod in self.watch.sightings.items() if pod.name.startswith(prefix)}
