"""The scheduler as a process: rights, watches, the lease, the loop, and an orderly end. `longshore schedule` runs it.

A replica that does not lead keeps its cache warm, so that it decides as soon as the lease is its own.
"""

import asyncio
import contextlib
import gc
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from longshore.core.arrays.live import LiveCluster
from longshore.core.words.errors import InputError, LongshoreError
from longshore.core.words.node import NodeReadings
from longshore.deciding.assume import ClusterView
from longshore.deciding.cycle import Cycle
from longshore.deciding.decider import Decider
from longshore.deciding.find import check_size
from longshore.filters import static_parts
from longshore.kube import writes
from longshore.kube.cache import Cache
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict
from longshore.kube.lease import (
    LEASE_SECONDS,
    RENEW_DEADLINE_SECONDS,
    LeaderElection,
    LeadershipLostError,
)
from longshore.kube.reflector import Reflector, Stage, WatchBatch, run_reflectors
from longshore.kube.resources import PODS, RESOURCES
from longshore.kube.writes import Reporter
from longshore.policies.base import Policy
from longshore.scheduling.lag import LoopLag
from longshore.scheduling.loop import Parts, Scheduler
from longshore.scheduling.memory import keep_trimmed
from longshore.scheduling.metrics import Health, SchedulerMetrics
from longshore.scheduling.points import DURING_RELIST, Pass, go_on
from longshore.scheduling.queue import SchedulingQueue
from longshore.scheduling.rights import EVICTION, MissingRightsError, missing_rights, needed_rights
from longshore.store.decisions import DecisionLog
from longshore.telemetry.base import Source
from longshore.telemetry.follow import Telemetry

STALE_SECONDS = 180.0
"""A watch that has said nothing for so long shows an old cluster: the server sends a bookmark every minute."""


@dataclass(frozen=True)
class Settings:
    """What the operator chooses."""

    scheduler_name: str = "longshore"
    """Pods with this `schedulerName` are ours."""
    elects_leader: bool = True
    lease_namespace: str = "longshore-system"
    lease_name: str = "longshore-scheduler"
    """As `deploy/rbac.yaml` has them."""
    lease_times: tuple[float, float, float] = (LEASE_SECONDS, RENEW_DEADLINE_SECONDS, 1.0)
    """Seconds until a silent holder counts as gone, until a holder steps down, and between tries. Tries are twice as
    frequent as client-go's: who waits then takes over within 20 s of a leader's death, and not within 24."""
    waits_for_lease: bool = True
    """False: end at once if somebody else holds it."""
    identity: str = "longshore"
    """Of this process among the candidates; unique."""
    seed: int = 0


@dataclass(frozen=True)
class Surroundings:
    """What the process around the scheduler provides."""

    metrics: SchedulerMetrics
    say: Callable[[str], None]
    """Tells the operator something, in one line."""
    stop: asyncio.Event
    """Set: come to an orderly end."""
    log: DecisionLog | None = None
    readings: Mapping[str, Source] = field(default_factory=dict)
    """Sources by name, the most trusted first."""
    failpoint: Pass = go_on


class Service:
    """One replica of the scheduler."""

    def __init__(self, client: Client, policy: Policy, settings: Settings, around: Surroundings) -> None:
        self._client, self._policy, self._settings, self._around = client, policy, settings, around
        self._cache = Cache()
        self._queue = SchedulingQueue(time.monotonic)
        view = ClusterView(LiveCluster(static_parts(), seed=settings.seed))
        self._cycle = Cycle(
            Decider(policy),
            view,
            budgets=self._cache.disruption_budgets,
            rng=random.Random(settings.seed),
        )
        host = settings.identity.partition("_")[0]
        reporter = Reporter(settings.scheduler_name, f"{settings.scheduler_name}-{host}")
        self.scheduler = Scheduler(
            Parts(
                client=client,
                cache=self._cache,
                cycle=self._cycle,
                queue=self._queue,
                scheduler_name=settings.scheduler_name,
                reporter=reporter,
                metrics=around.metrics,
                log=around.log,
                failpoint=around.failpoint,
            )
        )
        self._synced = asyncio.Event()
        self._reflectors = [Reflector(client, resource, self._deliver) for resource in RESOURCES]
        self._lag = LoopLag()
        around.metrics.watch_health(
            Health(self._watch_ages, self.scheduler.oldest_bind_seconds, self._lag.take, self.scheduler.num_workers)
        )
        self.is_leading = False

    def why_not_ready(self) -> str | None:
        """Say why this replica cannot decide or take over; None = it can."""
        if not self._synced.is_set():
            return "the first lists have not come in"
        silent = {name: age for name, age in self._watch_ages().items() if age > STALE_SECONDS}
        return "; ".join(f"{name}: the watch has said nothing for {age:.0f} s" for name, age in silent.items()) or None

    def _watch_ages(self) -> dict[str, float]:
        return {reflector.resource.name: reflector.silent_seconds for reflector in self._reflectors}

    async def run(self) -> None:
        """Run until told to stop.

        Raises:
            LongshoreError: credentials, rights, the lease or the policy do not allow it, or the lease was lost.
        """
        # Its own connections: what fills the others must not cost the lease.
        async with Client(self._client.identity, max_connections=2) as lease_client:
            await self._run(self._election(lease_client))

    async def _run(self, election: LeaderElection | None) -> None:
        if election is not None:
            await election.look()  # before anything that takes long: a holder that died is waited for from now on
        await self._check_rights()
        async with (
            _background(run_reflectors(self._reflectors)) as watch,
            _background(self._lag.run()),
            _background(keep_trimmed()),
        ):
            if not await self._until(self._synced.wait(), watch):
                return
            await self._check_cluster()
            async with _background(self._follow_readings()) as readings:
                await self._lead_if_elected(election, watch, readings)

    async def _check_rights(self) -> None:
        settings = self._settings
        lease = (settings.lease_namespace, settings.lease_name) if settings.elects_leader else None
        missing = await missing_rights(self._client, [*needed_rights(lease), EVICTION])
        if EVICTION in missing:
            self._cycle.may_preempt = False
            self._around.say(f"no right to {EVICTION}: pods of lower priority are not preempted")
            missing.remove(EVICTION)
        if missing:
            raise MissingRightsError(missing, self._client.identity.source)

    async def _check_cluster(self) -> None:
        """Refuse what can only be seen once the cluster is known."""
        view, settings = self._cycle.view, self._settings
        check_size(self._policy, len(view.nodes))
        if settings.elects_leader and settings.lease_namespace not in view.live.objects.namespaces:
            await self._make_namespace(settings.lease_namespace)
        self._around.say(f"cache synced: {len(view.nodes)} nodes, {view.num_running} pods running")

    async def _make_namespace(self, name: str) -> None:
        try:
            await writes.create_namespace(self._client, name)
        except Conflict:
            return  # another replica was faster
        except ApiError as error:
            raise InputError(
                f"there is no namespace `{name}` for the lease, and it cannot be made: {error.message}",
                "`kubectl apply -f deploy/rbac.yaml` makes it; or choose one by `--lease-namespace`, or run alone by "
                "`--no-leader-elect`",
            ) from error
        self._around.say(f"made the namespace `{name}` for the lease")

    def _deliver(self, batch: WatchBatch) -> None:
        """Take a batch of the watch over; before all first lists are in it only goes to the cache."""
        if batch.resource is PODS and batch.stage is Stage.LIST and batch.events:
            self._around.failpoint(DURING_RELIST)
        changes = self._cache.apply(batch)
        if self._synced.is_set():
            if batch.stage is Stage.LIST_BEGINS:
                self._around.metrics.watch_restarted(batch.resource.name, "relist")
            if changes:
                self.scheduler.intake.apply(changes)
                self.scheduler.wake()
        elif self._cache.is_synced():
            self.scheduler.intake.start()
            self._cycle.view.live.encoded()
            # What is there now stays for long: it is not walked through again by every full collection.
            gc.collect()
            gc.freeze()
            self._synced.set()

    async def _follow_readings(self) -> None:
        telemetry = Telemetry(self._around.readings, self._take_readings)
        self._around.metrics.watch_readings(telemetry.followers)
        await telemetry.run()
        await self._around.stop.wait()  # without sources there is nothing to ask

    def _take_readings(self, readings: Mapping[str, NodeReadings]) -> None:
        self._queue.wake(self._cycle.view.put_readings(readings))
        self.scheduler.wake()

    def _election(self, client: Client) -> LeaderElection | None:
        settings = self._settings
        if not settings.elects_leader:
            return None
        lasts, deadline, retry = settings.lease_times
        return LeaderElection(
            client,
            settings.lease_namespace,
            settings.lease_name,
            settings.identity,
            lease_seconds=lasts,
            renew_deadline_seconds=deadline,
            retry_seconds=retry,
        )

    async def _lead_if_elected(self, election: LeaderElection | None, *background: asyncio.Task[None]) -> None:
        settings = self._settings
        if election is None:
            await self._lead(None, *background)
            return
        if not await election.try_acquire():
            held = f"the lease `{election.described}` " + (
                f"is held by `{election.holder}`" if election.holder else "could not be taken"
            )
            if not settings.waits_for_lease:
                raise LongshoreError(held, "stop that scheduler, or wait for it by leaving out `--no-wait`")
            self._around.say(f"{held}; waiting to take over")
            if not await self._until(election.acquire(), *background):
                return
        try:
            await self._lead(election, *background)
        finally:
            await election.release()

    async def _lead(self, election: LeaderElection | None, *background: asyncio.Task[None]) -> None:
        metrics, scheduler = self._around.metrics, self.scheduler
        self.is_leading = True
        metrics.set_leader(True)
        self._around.say(f"scheduling pods with schedulerName `{self._settings.scheduler_name}`")
        if election is not None:
            scheduler.leads = lambda: election.is_leader
        holding = asyncio.Event().wait() if election is None else election.hold()
        try:
            async with _background(holding) as lease:
                try:
                    await self._until(scheduler.run(), lease, *background)
                    scheduler.stop()
                    await scheduler.finish()
                except LeadershipLostError:
                    await scheduler.abandon()
                    raise
        finally:
            self.is_leading = False
            metrics.set_leader(False)

    async def _until(self, work: Coroutine[Any, Any, Any], *background: asyncio.Task[Any]) -> bool:
        """Wait for something while other things go on; False = told to stop. The first to fail is raised."""
        task, stopped = asyncio.create_task(work), asyncio.create_task(self._around.stop.wait())
        try:
            await asyncio.wait({task, stopped, *background}, return_when=asyncio.FIRST_COMPLETED)
            for each in (*background, task):
                if each.done():
                    each.result()
            return task.done()
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)


@contextlib.asynccontextmanager
async def _background(work: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[None]]:
    """Run something for as long as the block runs."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
