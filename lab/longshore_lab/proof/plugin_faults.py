"""Faults of the kube-scheduler plugin with pods in flight: all are bound, the process lives, and it says why.

`plugin_fault_list.FAULTS` is the list. A third of the pods is there when the fault happens, a third comes in the
seconds in which the plugin notices it, and a third afterwards. The plugin has its deadline and circuit as delivered.
"""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from longshore.core.network.bundle import Bundle
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.checker import check
from longshore_lab.proof.faults import make_namespace
from longshore_lab.proof.load import delete_pods
from longshore_lab.proof.plugin_bundles import ModelLink, packing_bundle
from longshore_lab.proof.pod_watch import watching
from longshore_lab.proof.scene import Scene

DEADLINE_SECONDS: Final = 0.02
MAX_FAILURES: Final = 5
MAX_FAILED_SECONDS: Final = MAX_FAILURES * DEADLINE_SECONDS + 1.0
"""So long may all rankings together take that fail, before the policy is left alone."""
FAILING: Final = frozenset({"deadline", "nan", "panic", "error"})
"""Reasons to fall back for which the policy was asked in vain; for the others it was not asked, or answered at once."""
_FALLBACK = 'longshore_fallback_total{reason="'
_BATCHES, _BATCH_SECONDS = 15, 0.2
"""The second third of the pods comes over three seconds: the plugin looks at its files every two."""
_SAYING_SECONDS = 20.0
"""Events are sent in the background, decisions once a second."""


@dataclass(frozen=True)
class Expected:
    """What the plugin has to say about a fault."""

    metrics: tuple[str, ...] = ()
    """Series that have counted something."""
    reasons: frozenset[str] = frozenset()
    """Why pods were ranked by upstream's scores; nobody else's reason is allowed."""
    event: str = ""
    """The reason of a Kubernetes event; empty = none."""
    says: str = ""
    """A part of that event's note."""


@dataclass
class Spot:
    """Where a fault happens."""

    cluster: LocalCluster
    folder: Path
    model: ModelLink

    @property
    def readings(self) -> Path:
        """Return the file of readings."""
        return self.folder / "readings.json"

    @property
    def log(self) -> Path:
        """Return the decision log."""
        return self.folder / "log" / "decisions.jsonl"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    damage: Callable[[Spot], Awaitable[None]] | None
    """None: it is in how the plugin was started."""
    expected: Expected
    is_cold: bool = False
    """It has happened before the plugin starts."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of the plugin, beside the usual ones; `{folder}` in a text is the fault's own."""
    failpoint: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of all pods."""
    policy: Callable[[], Bundle] = packing_bundle
    prepare: Callable[[Spot], Awaitable[None]] | None = None
    """What is there before, and right."""
    is_logged: bool = True
    """The decision log can be read afterwards."""


@dataclass(frozen=True)
class PluginFaultResult:
    """What came of one fault."""

    fault: str
    pods: int
    waiting: int
    """Of these, not bound when it happened: waiting, on their way, or about to be created."""
    bound: int
    bound_twice: int
    misplaced: list[str]
    """Bindings and evictions that the checker would not have done."""
    is_same_process: bool
    fallbacks: dict[str, int]
    """Rankings by upstream's scores, by the reason."""
    failed_seconds: float
    """All rankings together for which the policy was asked in vain, upstream's scores included; from the decision log,
    so 0 where that cannot be read."""
    seconds: float
    """From the fault until every pod was bound; the pods themselves come over three seconds."""
    last_third_seconds: float
    """From the creation of the last third until it was bound."""
    note: str
    """What the event said."""
    missing: list[str]
    """What should have been said and was not, or the other way round."""
    excused: int = 0
    """What was right a moment before."""

    @property
    def failures(self) -> int:
        """Return how many rankings failed."""
        return sum(count for reason, count in self.fallbacks.items() if reason in FAILING)

    @property
    def is_well(self) -> bool:
        """Say whether nothing was lost, the process lives, little time was, and it was said why."""
        is_whole = self.bound == self.pods and not self.bound_twice and not self.misplaced and self.waiting > 0
        return is_whole and self.is_same_process and self.failed_seconds <= MAX_FAILED_SECONDS and not self.missing


def plugin_fault_cluster(name: str | None = None) -> contextlib.AbstractContextManager[LocalCluster]:
    """Give a cluster without a scheduler that holds more than 1,000 of the pods."""
    name = name or f"plugin-faults-{os.getpid()}"
    return temporary(
        ClusterOptions(name=name, nodes=50, node_cpu="64", node_memory="256Gi", has_scheduler=False, has_history=True)
    )


async def run_plugin_fault(cluster: LocalCluster, name: str, fault: Fault, num_pods: int) -> PluginFaultResult:
    """Let one fault happen, and look what is left."""
    plugin = PluginProcess(cluster)
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        namespace = await make_namespace(client, f"fault-{time.time_ns() % 10**9}")
        scene = Scene(cluster, client, watch, namespace, num_pods, elects_leader=False, annotations=fault.annotations)
        with tempfile.TemporaryDirectory(prefix="longshore-fault-") as folder:
            spot = await _prepared(cluster, Path(folder), fault)
            try:
                await plugin.start(_arguments(spot, fault), fault.failpoint)
                last_third_at = await _let_happen(scene, spot, fault)
                return await _result(name, fault, spot, scene, plugin, last_third_at)
            finally:
                plugin.stop()
                await delete_pods(client, namespace)
                await client.request("DELETE", f"/api/v1/namespaces/{namespace}")


async def _prepared(cluster: LocalCluster, folder: Path, fault: Fault) -> Spot:
    spot = Spot(cluster, folder, ModelLink(folder))
    spot.log.parent.mkdir()
    spot.model.put(fault.policy())
    if fault.prepare is not None:
        await fault.prepare(spot)
    if fault.is_cold and fault.damage is not None:
        await fault.damage(spot)
    return spot


def _arguments(spot: Spot, fault: Fault) -> dict[str, Any]:
    given: dict[str, Any] = {"modelPath": str(spot.model.path), "decisionLog": str(spot.log)}
    for name, value in fault.arguments.items():
        given[name] = value.format(folder=spot.folder) if isinstance(value, str) else value
    return given


async def _let_happen(scene: Scene, spot: Spot, fault: Fault) -> float:
    """Create the pods, let the fault happen when some are bound, and return when the last third was begun."""
    third = scene.num_pods // 3
    await scene.create(0, third)
    await scene.all_bound(third // 3)
    scene.strike()
    damage = asyncio.create_task(_damage(scene, spot, fault))
    step = max(third // _BATCHES, 1)
    for first in range(third, 2 * third, step):
        await scene.create(first, min(first + step, 2 * third))
        await asyncio.sleep(_BATCH_SECONDS)
    await damage
    last_third_at = time.monotonic()
    await scene.create(2 * third, scene.num_pods)
    await scene.all_bound()
    return last_third_at


async def _damage(scene: Scene, spot: Spot, fault: Fault) -> None:
    if fault.damage is not None and not fault.is_cold:
        await fault.damage(spot)
        scene.is_back()


async def _result(
    name: str, fault: Fault, spot: Spot, scene: Scene, plugin: PluginProcess, last_third_at: float
) -> PluginFaultResult:
    report = await asyncio.to_thread(check, scene.cluster, scene.namespace)
    seen = scene.watch.of(scene.uids)
    note = await _note(scene, fault.expected)
    failed_seconds = await _failed_seconds(spot, scene, plugin, fault)
    series = await plugin.metrics()
    fallbacks = fallbacks_of(series)
    recovery = scene.recovery_seconds()
    return PluginFaultResult(
        fault=name,
        pods=scene.num_pods,
        waiting=scene.num_waiting,
        bound=sum(bool(pod.nodes) and not pod.is_gone for pod in seen),
        bound_twice=sum(len(pod.nodes) > 1 for pod in seen),
        misplaced=[str(each) for each in report.shown],
        is_same_process=plugin.is_the_same,
        fallbacks=fallbacks,
        failed_seconds=failed_seconds,
        seconds=recovery,
        last_third_seconds=recovery + scene.struck_at - last_third_at,
        note=note,
        missing=missing(fault.expected, series, note),
        excused=report.num_excused,
    )


def fallbacks_of(series: Mapping[str, float]) -> dict[str, int]:
    """Return the rankings by upstream's scores, by the reason, from a page of metrics."""
    return {name[len(_FALLBACK) : -2]: int(value) for name, value in series.items() if name.startswith(_FALLBACK)}


def missing(expected: Expected, series: Mapping[str, float], note: str) -> list[str]:
    """Say what was not said though it should have been, and what was said without cause."""
    found = [f"nothing counted in {name}" for name in expected.metrics if not series.get(name)]
    # On busy cores a ranking may be late at any time; that is no other fault.
    allowed = expected.reasons | {"deadline"}
    found += [f"fell back by {reason}" for reason in sorted(fallbacks_of(series).keys() - allowed)]
    if expected.says not in note or (expected.event and not note):
        found.append(f"no event {expected.event} with `{expected.says}`")
    return found


async def _note(scene: Scene, expected: Expected) -> str:
    """Return what the expected event says; empty if it does not come."""
    notes: list[str] = []

    async def is_there() -> bool:
        path = f"/apis/events.k8s.io/v1/namespaces/{scene.namespace}/events"
        events = msgspec.json.decode(await scene.client.request("GET", path))["items"]
        notes[:] = [each["note"] for each in events if each["reason"] == expected.event]
        return any(expected.says in note for note in notes)

    if not expected.event or not await api.until(is_there, _SAYING_SECONDS):
        return notes[0] if notes else ""
    return next(note for note in notes if expected.says in note)


async def _failed_seconds(spot: Spot, scene: Scene, plugin: PluginProcess, fault: Fault) -> float:
    """Return how long the rankings took that failed, from the decision log, once it is complete."""
    decisions: list[dict[str, Any]] = []

    async def is_complete() -> bool:
        made = (await plugin.metrics()).get("longshore_decision_duration_seconds_count", 0.0)
        lines = spot.log.read_bytes().splitlines() if spot.log.is_file() else []
        decisions[:] = [msgspec.json.decode(line) for line in lines]
        return len(decisions) >= made

    if fault.is_logged:
        await api.until(is_complete, _SAYING_SECONDS)
    reasons = [((one["fallback_reason"] or "").partition(":")[0], one["latency_us"]) for one in decisions]
    return float(sum(micros for reason, micros in reasons if reason in FAILING)) / 1e6
