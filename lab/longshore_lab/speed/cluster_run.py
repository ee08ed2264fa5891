"""One measurement: pods that wait, a scheduler that is started, and when each pod was bound, seen by a watch.

The pods are the same for every scheduler, down to the `schedulerName`: only one scheduler runs at a time. The watch
that takes the times belongs to the measurement, so its (small) cost is on both sides.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube import wire
from longshore.kube.client import METADATA_ONLY, Client
from longshore.kube.config import load_identity
from longshore.kube.errors import ApiError, Forbidden, Unauthorized
from longshore.kube.identity import Identity
from longshore.kube.reflector import Reflector, WatchBatch
from longshore.kube.resources import Resource
from longshore.live import api
from longshore.store.reader import DecisionReader
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.local import last_lines
from longshore_lab.cluster.processes import ProcessRecord, memory_bytes, prefer
from longshore_lab.cluster.state import PartRecord
from longshore_lab.speed.cluster_metrics import Histogram, by_label, counter, histogram, quantile
from longshore_lab.speed.cluster_modes import (
    PLUGIN,
    PLUGIN_FALLBACK,
    PLUGINS,
    SCHEDULER_NAME,
    STANDALONE,
    Policies,
    make_part,
    part_name,
)

NAMESPACE = "speed"

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
_RANKINGS = "longshore_decision_duration_seconds"
_IMMEDIATELY = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
_QUIET_SHARE, _QUIET_SECONDS = 0.15, 0.5
_QUIET_SHARE_PER_NODE = 0.0001
"""Of a processor: nodes that say every half minute that they are alive are never quite quiet."""
_AT_LEAST_SECONDS, _AT_LEAST_PODS_PER_SECOND = 60.0, 10.0
_METRICS_SECONDS = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")


class _Named(msgspec.Struct):
    metadata: wire.ObjectMeta


class _List(msgspec.Struct):
    items: list[_Named]


_BOUND_PODS = Resource("pods", "Pod", "v1", _Named, field_selector="spec.nodeName!=")


@dataclass(frozen=True)
class Measurement:
    """What one scheduler did with the waiting pods."""

    mode: str
    nodes: int
    pods: int
    seconds: float
    """From the start of its process to the last binding."""
    binding_seconds: float
    """From the first binding to the last."""
    cpu_seconds: float
    """Of its process."""
    memory_bytes: int
    """Resident, at the end."""
    latencies_ms: tuple[float, ...] = ()
    """Of every decision, where the decision log has them."""
    durations: Histogram | None = None
    """Of the decisions, where only a histogram is known."""
    cpu_durations: Histogram | None = None
    """Processor time of the decisions, where it is known: without the waiting for a processor that others have."""
    rankings: Histogram | None = None
    """Of our plugin's part of the decisions: all that it does in PreScore."""
    num_fallbacks: int = 0
    """Pods that upstream's scores ranked in the plugin's place."""

    @property
    def pods_per_second(self) -> float:
        """Pods per second, start-up included."""
        return self.pods / self.seconds

    @property
    def pods_per_second_binding(self) -> float:
        """Pods per second between the first binding and the last."""
        return (self.pods - 1) / self.binding_seconds if self.binding_seconds else 0.0

    def decision_ms(self, share: float) -> float:
        """Return a quantile of the decisions' durations."""
        if self.durations is not None:
            return 1000 * quantile(self.durations, share)
        return exact_quantile(self.latencies_ms, share)

    def ranking_ms(self, share: float) -> float | None:
        """Return a quantile of how long our plugin took to rank; None = it is not there."""
        return None if self.rankings is None else 1000 * quantile(self.rankings, share)

    def summary(self) -> dict[str, object]:
        """Return the figures without the single decisions."""
        return {
            "mode": self.mode,
            "nodes": self.nodes,
            "pods": self.pods,
            "pods_per_second": self.pods_per_second,
            "pods_per_second_binding": self.pods_per_second_binding,
            "seconds": self.seconds,
            "decision_p50_ms": self.decision_ms(0.5),
            "decision_p99_ms": self.decision_ms(0.99),
            "decision_cpu_p99_ms": None if self.cpu_durations is None else 1000 * quantile(self.cpu_durations, 0.99),
            "prescore_p50_ms": self.ranking_ms(0.5),
            "prescore_p99_ms": self.ranking_ms(0.99),
            "fallbacks": self.num_fallbacks,
            "cpu_seconds": self.cpu_seconds,
            "memory_bytes": self.memory_bytes,
        }


def exact_quantile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def pods(count: int, node: Callable[[int], str] | None = None, prefix: str = "pod") -> list[tuple[str, dict[str, Any]]]:
    """Return plain pods, each with the path to create it at; they wait, or are on a node from the start."""
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    spec = {"schedulerName": SCHEDULER_NAME, "containers": [{"name": "main", "image": "none", "resources": resources}]}
    return [
        (
            _PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{prefix}-{index:05}", "labels": {"app": "speed"}},
                "spec": spec if node is None else {**spec, "nodeName": node(index)},
            },
        )
        for index in range(count)
    ]


async def prepare(client: Client) -> None:
    """Make the namespace in which the pods will be."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await api.create_all(client, [("/api/v1/namespaces", namespace)])
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    if not await api.until(lambda: api.answers(client, account), 60.0):
        raise LongshoreError(f"the namespace `{NAMESPACE}` has no service account after 60 s")


async def clear(client: Client, seconds: float = 120.0) -> None:
    """Delete all pods and events, and return when no pod is left."""

    async def are_gone() -> bool:
        found = msgspec.json.decode(await client.request("GET", _PODS, query={"limit": "1"}), type=_List)
        return not found.items

    for path in (_PODS, _EVENTS):
        await client.request("DELETE", path, body=_IMMEDIATELY, timeout_seconds=seconds)
    if not await api.until(are_gone, seconds):
        raise LongshoreError(f"pods of `{NAMESPACE}` are still there after {seconds:g} s")


async def wait_until_running(client: Client, seconds: float) -> None:
    """Wait until every pod is reported as running.

    Raises:
        LongshoreError: not all are in time.
    """
    query = {"fieldSelector": "status.phase!=Running", "limit": "1"}

    async def are_running() -> bool:
        return not msgspec.json.decode(await client.request("GET", _PODS, query=query), type=_List).items

    if not await api.until(are_running, seconds, poll_seconds=2.0):
        raise LongshoreError(f"pods of `{NAMESPACE}` do not run after {seconds:g} s")


async def settle(cluster: LocalCluster, at_most_seconds: float = 30.0) -> None:
    """Wait until the cluster's processes have done what they had to do, so that they do not while others are timed."""
    quiet_share = _QUIET_SHARE + _QUIET_SHARE_PER_NODE * cluster.options.nodes
    ends = time.monotonic() + at_most_seconds
    while time.monotonic() < ends:
        before = _control_plane_seconds(cluster)
        await asyncio.sleep(_QUIET_SECONDS)
        if _control_plane_seconds(cluster) - before < quiet_share * _QUIET_SECONDS:
            return


async def measure(
    cluster: LocalCluster, client: Client, mode: str, count: int, policies: Policies, *, is_preferred: bool = False
) -> Measurement:
    """Let pods wait, start a scheduler, and stop it when all are bound; the pods are gone afterwards.

    A preferred one gets a core before the cluster's other processes do.

    Raises:
        LongshoreError: not all pods were bound in time, not by this scheduler, or not by what it was to rank with.
    """
    await api.create_all(client, pods(count))
    await settle(cluster)
    store = cluster.folder / "speed-decisions.db"
    part = make_part(cluster, mode, policies, store)
    try:
        run = await _timed(cluster, part, mode, count, is_preferred)
    finally:
        await asyncio.to_thread(cluster.stop_part, part.name)
    if mode == STANDALONE:
        reader = DecisionReader(str(store))
        decisions = reader.query(limit=10 * count)
        reader.close()
        latencies = tuple(one.latency_us / 1000 for one in decisions if one.latency_us is not None)
        run = replace(run, latencies_ms=latencies)
    for file in cluster.folder.glob(f"{store.name}*"):
        file.unlink()
    await clear(client)
    await settle(cluster)
    return run


async def read_metrics(cluster: LocalCluster, part: PartRecord) -> str:
    """Return the Prometheus page of a scheduler."""
    server = f"127.0.0.1:{part.port}"
    if part.name == part_name(STANDALONE):
        identity = Identity(f"http://{server}")
    else:
        identity = replace(load_identity(cluster.kubeconfig), server=f"https://{server}")
    async with Client(identity) as client:
        return (await client.request("GET", "/metrics")).decode()


async def _timed(cluster: LocalCluster, part: PartRecord, mode: str, count: int, is_preferred: bool) -> Measurement:
    started, moments = await _start_and_watch(cluster, part, count, is_preferred)
    process = cluster.record.parts[part.name].process
    assert process is not None
    used, held = cpu_seconds(process), memory_bytes(process) or 0
    page = await counted_page(cluster, part, count)
    first, last = min(moments), max(moments)
    run = Measurement(mode, cluster.options.nodes, count, last - started, last - first, used, held)
    if mode in (STANDALONE, PLUGIN):
        run = replace(run, cpu_durations=histogram(page, "longshore_decision_cpu_seconds"))
    if mode == STANDALONE:
        return run
    run = replace(run, durations=histogram(page, "scheduler_scheduling_algorithm_duration_seconds"))
    if mode in PLUGINS:
        run = replace(run, rankings=histogram(page, _RANKINGS), num_fallbacks=check_fallbacks(mode, page, count))
    return run


def check_fallbacks(mode: str, page: str, count: int) -> int:
    """Return how many pods upstream's scores ranked: all without a bundle, none with one.

    Raises:
        LongshoreError: it is not so, or the plugin did not see all pods; then something else was measured.
    """
    ranked, reasons = int(counter(page, f"{_RANKINGS}_count")), by_label(page, "longshore_fallback_total", "reason")
    expected = {"model-missing": ranked} if mode == PLUGIN_FALLBACK else {}
    if ranked < count or reasons != expected:
        found = ", ".join(f"{number:g} {reason}" for reason, number in reasons.items()) or "none"
        raise LongshoreError(
            f"{mode}: the plugin ranked {ranked} of {count} pods, and fallbacks were: {found}; expected "
            + (f"{count} model-missing" if expected else "none"),
            "a bundle of fixed size or outside of its envelope does not serve this cluster; give another `--bundle`",
        )
    return int(sum(reasons.values()))


async def _start_and_watch(
    cluster: LocalCluster, part: PartRecord, count: int, is_preferred: bool
) -> tuple[float, list[float]]:
    """Start a scheduler and wait until all pods are bound; return when it was started and when each was bound.

    Raises:
        LongshoreError: not all were bound in time, or the scheduler ended.
    """
    # Names alone: the watch that takes the times is to cost the server little.
    async with Client(load_identity(cluster.kubeconfig), accept=METADATA_ONLY) as client:
        watch = _BindingWatch(client, count)
        watching = asyncio.create_task(watch.reflector.run())
        try:
            await watch.reflector.synced.wait()
            started = time.perf_counter()
            cluster.start_part(part.name)
            process = cluster.record.parts[part.name].process
            if is_preferred and process is not None:
                prefer(process)
            async with asyncio.timeout(_AT_LEAST_SECONDS + count / _AT_LEAST_PODS_PER_SECOND):
                while not watch.is_complete.is_set():
                    cluster.check_alive([part.name])
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(watch.is_complete.wait(), 1.0)
        except TimeoutError:
            said = "\n".join(last_lines(cluster.log(part.name)))
            raise LongshoreError(
                f"{part.name} bound {len(watch.moments)} of {count} pods in time; it said:\n{said}"
            ) from None
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        return started, list(watch.moments.values())


async def counted_page(cluster: LocalCluster, part: PartRecord, count: int) -> str:
    """Return the metrics once they show so many pods bound: by this process, and by nobody else."""
    page, found = "", 0.0
    refusal: ApiError | None = None

    async def is_counted() -> bool:
        nonlocal page, found, refusal
        try:
            page, refusal = await read_metrics(cluster, part), None
        except (Unauthorized, Forbidden) as error:
            # kube-scheduler serves before it has read who may ask; a few pods are bound by then.
            refusal = error
            return False
        found = counter(page, "scheduler_schedule_attempts_total", result="scheduled")
        return found >= count

    if not await api.until(is_counted, _METRICS_SECONDS):
        raise refusal or LongshoreError(f"{part.name} says that it bound {found:g} pods, expected {count}")
    return page


class _BindingWatch:
    """Notes when each pod gets its node."""

    def __init__(self, client: Client, count: int) -> None:
        self.moments: dict[str, float] = {}
        self.is_complete = asyncio.Event()
        self._count = count
        # The server ends a watch when it has no time to serve it; a reflector goes on where it was.
        self.reflector = Reflector(client, _BOUND_PODS, self._take)

    def _take(self, batch: WatchBatch) -> None:
        now = time.perf_counter()
        for event in batch.events:
            self.moments.setdefault(event.object.metadata.name, now)
        if len(self.moments) >= self._count:
            self.is_complete.set()


def cpu_seconds(process: ProcessRecord) -> float:
    """Return the processor time that a process has used, its children not included."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _control_plane_seconds(cluster: LocalCluster) -> float:
    found = 0.0
    for part in cluster.record.parts.values():
        if part.process is not None:
            with contextlib.suppress(OSError):
                found += cpu_seconds(part.process)
    return found


async def wait_until_ready(part: PartRecord, seconds: float = 120.0) -> None:
    """Wait until our scheduler has read the cluster.

    Raises:
        LongshoreError: it has not in time.
    """
    async with Client(Identity(f"http://127.0.0.1:{part.port}")) as client:
        if not await api.until(lambda: api.answers(client, "/readyz"), seconds):
            raise LongshoreError(f"{part.name} is not ready after {seconds:g} s")
