"""One soak: a cluster is filled, then never left alone; in the end everything must be in its place."""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.proof.checker import Checker, Report
from longshore_lab.soak import verdict
from longshore_lab.soak.load import NODE_CPU, Load, loading
from longshore_lab.soak.samples import Sample, memory_of, num_files_of
from longshore_lab.soak.scheduler import KEPT_DECISIONS, THROUGH, Soaked
from longshore_lab.speed.cluster_metrics import counter, histogram

SAMPLE_SECONDS: Final = 5.0
_FILL_SECONDS: Final = 1200.0
_CALM_SECONDS: Final = 180.0
"""So long after the last change all are in their place: pods of nodes that are gone go first, which takes a while."""
_CPU_SECONDS: Final = "longshore_decision_cpu_seconds"
_PAUSE_SECONDS: Final = 5.0


@dataclass(frozen=True)
class SoakOptions:
    """What is soaked, and how."""

    through: str = "schedule"
    minutes: float = 40.0
    """After the fill."""
    nodes: int = 1000
    pods: int = 20_000
    fault_seconds: float = 180.0
    """Between two faults."""
    seed: int = 0


@dataclass
class Soak:
    """What came of it."""

    options: SoakOptions
    samples: list[Sample] = field(default_factory=list)
    filled_at: float = 0.0
    faults: list[str] = field(default_factory=list)
    num_bound: int = 0
    """Pods that were bound in all."""
    report: Report | None = None
    """What the checker found."""
    rows: list[verdict.Row] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Say whether every bar is met."""
        return all(row.is_met for row in self.rows)


def soak(options: SoakOptions, tell: Callable[[str], None]) -> Soak:
    """Run a soak on a cluster of its own."""
    name = f"soak-{os.getpid()}"
    cluster_options = ClusterOptions(
        name=name, nodes=options.nodes, node_cpu=NODE_CPU, has_scheduler=False, has_history=True
    )
    with temporary(cluster_options, tell) as cluster, Checker(cluster) as checker:
        return asyncio.run(_soak(cluster, checker, options, tell))


async def _soak(cluster: LocalCluster, checker: Checker, options: SoakOptions, tell: Callable[[str], None]) -> Soak:
    found, soaked = Soak(options), THROUGH[options.through](cluster)
    began = time.monotonic()
    async with Client(load_identity(cluster.kubeconfig)) as client, loading(cluster, client, options.seed) as load:
        await soaked.start()
        sampling = asyncio.create_task(_sample(found, soaked, load, began))
        try:
            await load.fill(options.pods)
            await _wait(lambda: len(load.bound) >= options.pods, _FILL_SECONDS, f"{options.pods} pods are not bound")
            found.filled_at = time.monotonic() - began
            tell(f"filled after {found.filled_at:.0f} s; from now on for {options.minutes:g} minutes nothing rests")
            await _disturb(cluster, load, found, tell)
            tell("letting it come to rest …")
            num_left = await _rest(load)
            _check_alive(sampling)
        finally:
            sampling.cancel()
            await asyncio.gather(sampling, return_exceptions=True)
        found.report = await asyncio.to_thread(checker.report)
        found.rows = verdict.rows(found.samples, found.filled_at, KEPT_DECISIONS, found.report, num_left)
    return found


async def _disturb(cluster: LocalCluster, load: Load, found: Soak, tell: Callable[[str], None]) -> None:
    options = found.options
    ends = time.monotonic() + 60 * options.minutes
    churning = asyncio.create_task(load.churn())
    try:
        number = 0
        while (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(options.fault_seconds, left))
            if time.monotonic() < ends:
                name = list(FAULTS)[number % len(FAULTS)]
                number += 1
                tell(f"{name} ({len(load.waiting)} pods wait)")
                found.faults.append(name)
                await FAULTS[name](cluster)
            _check_alive(churning)
    finally:
        churning.cancel()
        await asyncio.gather(churning, return_exceptions=True)


async def _rest(load: Load) -> int:
    """Wait until no pod waits; return how many still do."""
    with contextlib.suppress(LongshoreError):
        await _wait(lambda: not load.waiting, _CALM_SECONDS, "pods wait")
    return len(load.waiting)


async def _sample(found: Soak, soaked: Soaked, load: Load, began: float) -> None:
    pid = soaked.pid
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        try:
            page = await soaked.page()
            rows = await asyncio.to_thread(soaked.num_decisions)
        except (ApiError, LongshoreError, OSError):
            if not Path(f"/proc/{pid}").exists():
                raise LongshoreError("the scheduler has ended") from None
            continue  # it has just started, or a fault is on
        found.num_bound = int(counter(page, "scheduler_schedule_attempts_total", result="scheduled"))
        found.samples.append(
            Sample(
                seconds=time.monotonic() - began,
                memory_bytes=memory_of(pid),
                num_files=num_files_of(pid),
                decisions=histogram(page, _CPU_SECONDS),
                log_rows=rows,
                log_bytes=sum(path.stat().st_size for path in soaked.log.parent.glob(f"{soaked.log.name}*")),
                num_pending=len(load.waiting),
            )
        )


async def _wait(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            raise LongshoreError(f"{otherwise} after {seconds:g} s")
        await asyncio.sleep(0.5)


def _check_alive(task: asyncio.Task[None]) -> None:
    if task.done():
        task.result()


async def _restart_apiserver(cluster: LocalCluster) -> None:
    await asyncio.to_thread(cluster.restart_apiserver)


def _paused(part: str) -> Callable[[LocalCluster], Awaitable[None]]:
    async def fault(cluster: LocalCluster) -> None:
        cluster.pause_part(part)
        try:
            await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            cluster.resume_part(part)

    return fault


FAULTS: Final[dict[str, Callable[[LocalCluster], Awaitable[None]]]] = {
    "API server killed and started again": _restart_apiserver,
    f"etcd paused for {_PAUSE_SECONDS:g} s": _paused("etcd"),
    f"API server paused for {_PAUSE_SECONDS:g} s": _paused("kube-apiserver"),
}
"""What goes wrong every few minutes, in turn."""
