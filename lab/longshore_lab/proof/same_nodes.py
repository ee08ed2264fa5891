"""The same pods, in the same order, through the plugin in kube-scheduler and through `longshore schedule`: same nodes.

Both read the same bundle and see the same objects on one API server, one after the other: first the one places all
pods of a round, each when the one before it is bound, then they are taken away, and the other does the same.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube import annotations
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore.policies.bundle_folder import SHIPPED, find_bundles, read_folder
from longshore_lab import build
from longshore_lab.cluster import LocalCluster
from longshore_lab.live_demo import scheduling
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.live_case import Json, surroundings, with_scheduler
from longshore_lab.proof.pod_watch import PodWatch, watching
from longshore_lab.proof.same_nodes_round import Round, make_round
from longshore_lab.proof.stage import RefusedError, Stage

PLUGIN, STANDALONE = "longshore", "standalone"
"""The names that the two schedulers listen to."""
NEAR_TIE: Final = 1e-4
"""Scores closer than this, on the scale of the largest (of 1 at least), may be told apart by rounding alone."""
_SETTLE_SECONDS, _LONG_SETTLE_SECONDS = 0.4, 2.0
_ANSWER_SECONDS = 30.0
_TOUCH_SECONDS = 15.0
_LOG_SECONDS = 10.0
_NOT_MODELLED = "which longshore does not model"


@dataclass(frozen=True)
class PlacedPod:
    """What a scheduler did with one pod."""

    node: str | None
    """None: nothing fits."""
    devices: str = ""
    """The GPUs that it was given."""
    message: str = ""
    """Why nothing fits."""


@dataclass(frozen=True)
class NodeDifference:
    """A pod that the two put to different places."""

    round: int
    pod: str
    what: str


@dataclass
class BundleResult:
    """The outcome for one bundle."""

    bundle: str
    rounds: int = 0
    pods: int = 0
    """That were compared."""
    placed: int = 0
    with_devices: int = 0
    """Of the placed ones: with GPUs."""
    pending: int = 0
    near_ties: int = 0
    """Differences that are none: the best nodes' scores are closer than rounding tells apart. They end their round."""
    late: int = 0
    """Rounds that agreed only when the watches had had longer to come in step."""
    fallbacks: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Drawn pods that were not compared, by reason."""
    differences: list[NodeDifference] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_well(self) -> bool:
        """Say whether both did the same, the plugin by its bundle."""
        return self.pods > 0 and not self.differences and not self.fallbacks


def repository_bundles() -> dict[str, Path]:
    """Return all bundles of this repository that serve any number of nodes, by name."""
    root = build.SOURCE.parent
    folders = [path.parent for path in sorted(root.glob("contract/bundles/*/policy.json"))]
    folders += find_bundles(SHIPPED)
    return {folder.name: folder for folder in folders if read_folder(folder).num_nodes is None}


def difference(plugin: PlacedPod, standalone: PlacedPod) -> str | None:
    """Say where the two differ; None = nowhere. Sentences about nodes that do not fit are upstream's own matter."""
    if (plugin.node, plugin.devices) == (standalone.node, standalone.devices):
        return None
    return f"plugin {plugin}, standalone {standalone}"


def is_near_tie(candidates: list[tuple[str, float]], tolerance: float) -> bool:
    """Say whether rounding may decide which nodes tie with the best: one is as good as on the edge of the tolerance."""
    if not candidates:
        return False
    best = candidates[0][1]
    scale = max(1.0, *(abs(score) for _, score in candidates))
    return any(abs(best - score - tolerance) <= NEAR_TIE * scale for _, score in candidates[1:])


async def prove_same_nodes(
    cluster: LocalCluster,
    bundles: Mapping[str, Path],
    rounds: int,
    pods: int,
    seed: int,
    progress: Callable[[int, int], None],
) -> list[BundleResult]:
    """Run so many rounds of so many pods with every bundle; `progress` hears how many pods were compared and differ.

    The bundles must be of networks for any number of nodes: `longshore schedule` refuses others in an empty cluster.
    """
    results = [BundleResult(name) for name in bundles]
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        for path, content in surroundings():
            await api.create_all(client, [(path, content)])
        for number, (result, folder) in enumerate(zip(results, bundles.values(), strict=True)):
            policy = read_folder(folder)
            drawn = [make_round(seed, number * rounds + index, pods) for index in range(rounds)]
            async with _serving(cluster, folder, drawn) as (plugin, log):
                proof = _Proof(Stage(client), watch, log, policy.tie_tolerance, result)
                started = time.perf_counter()
                for each in drawn:
                    await proof.run(each)
                    progress(sum(one.pods for one in results), sum(len(one.differences) for one in results))
                result.seconds = time.perf_counter() - started
                series = await plugin.metrics()
            result.fallbacks = int(sum(v for name, v in series.items() if name.startswith("longshore_fallback_total")))
    return results


@contextlib.asynccontextmanager
async def _serving(
    cluster: LocalCluster, folder: Path, drawn: list[Round]
) -> AsyncIterator[tuple[PluginProcess, "DecisionTail"]]:
    """Run both schedulers with a bundle and the readings of all rounds."""
    readings, decisions = cluster.folder / "same-nodes-readings.json", cluster.folder / "same-nodes-decisions.jsonl"
    decisions.unlink(missing_ok=True)
    known: dict[str, Json] = {}
    for each in drawn:
        known = {**each.readings, **known}
    readings.write_bytes(msgspec.json.encode({"nodes": known}))
    # The envelope is off: `longshore schedule` has none, and many of these clusters are like no training.
    arguments = {
        "modelPath": str(folder.resolve()),
        "readingsFile": str(readings),
        "decisionLog": str(decisions),
        "envelopeTolerance": 1,
        "deadline": "5s",
    }
    plugin = PluginProcess(cluster)
    options = [f"--scheduler-name={STANDALONE}", "--no-leader-elect", f"--readings={readings}"]
    try:
        await plugin.start(arguments)
        with scheduling(cluster, str(folder), options):
            touching = asyncio.create_task(_keep_fresh(readings))
            try:
                yield plugin, DecisionTail(decisions)
            finally:
                touching.cancel()
                await asyncio.gather(touching, return_exceptions=True)
    finally:
        plugin.stop()


async def _keep_fresh(readings: Path) -> None:
    """Have the readings count as just measured: both forget those older than a minute."""
    while True:
        await asyncio.sleep(_TOUCH_SECONDS)
        os.utime(readings)


class DecisionTail:
    """Reads the plugin's decision log."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def candidates(self, uid: str) -> list[tuple[str, float]]:
        """Return the best nodes and their scores for a pod; none where only one node fitted, or after a long wait."""
        ends = time.monotonic() + _LOG_SECONDS
        while time.monotonic() < ends:
            for line in self._path.read_bytes().splitlines() if self._path.exists() else ():
                decision = msgspec.json.decode(line)
                if decision["pod_uid"] == uid:
                    return [(name, float(score)) for name, score in decision["candidates"]]
            await asyncio.sleep(0.2)
        return []


class _Proof:
    def __init__(
        self, stage: Stage, watch: PodWatch, log: DecisionTail, tolerance: float, result: BundleResult
    ) -> None:
        self._stage, self._watch, self._log, self._tolerance, self._result = stage, watch, log, tolerance, result

    async def run(self, drawn: Round) -> None:
        """Compare one round; once more with more time between the watches where it differs."""
        try:
            found = await self._compare(drawn, _SETTLE_SECONDS)
            if found.differences:
                found = await self._compare(drawn, _LONG_SETTLE_SECONDS)
                found.late += not found.differences
        except RefusedError:
            self._result.left_out["rounds that the API server does not take"] += 1
            return
        result = self._result
        result.rounds += 1
        for name in ("pods", "placed", "with_devices", "pending", "near_ties", "late"):
            setattr(result, name, getattr(result, name) + getattr(found, name))
        result.left_out.update(found.left_out)
        result.differences += found.differences

    async def _compare(self, drawn: Round, settle_seconds: float) -> BundleResult:
        result = BundleResult(self._result.bundle)
        try:
            await self._stage.put(drawn.objects)
            await asyncio.sleep(settle_seconds)
            ours: dict[str, tuple[str, PlacedPod]] = {}
            for pod in drawn.pods:
                placed = await self._place(pod, STANDALONE)
                if placed is None:
                    result.left_out["the API server does not take it"] += 1
                elif _NOT_MODELLED in placed[1].message:
                    result.left_out["it needs what longshore does not model"] += 1
                else:
                    ours[pod["metadata"]["name"]] = placed
            await self._remove(drawn.pods)
            await asyncio.sleep(settle_seconds)
            for pod in drawn.pods:
                name = pod["metadata"]["name"]
                if name in ours and not await self._agrees(drawn, pod, ours[name][1], result):
                    break
            return result
        finally:
            await self._remove(drawn.pods)
            await self._stage.clear()

    async def _agrees(self, drawn: Round, pod: Json, standalone: PlacedPod, result: BundleResult) -> bool:
        """Place a pod with the plugin and compare; False = the clusters are not the same from here on."""
        placed = await self._place(pod, PLUGIN)
        if placed is None:
            raise LongshoreError(f"the API server took {pod['metadata']['name']} once and then did not")
        uid, plugin = placed
        what = difference(plugin, standalone)
        if what is not None:
            candidates = await self._log.candidates(uid)
            if is_near_tie(candidates, self._tolerance):
                result.near_ties += 1
            else:
                name = pod["metadata"]["name"]
                result.differences.append(NodeDifference(drawn.index, name, f"{what}, candidates {candidates}"))
            return False
        result.pods += 1
        result.placed += plugin.node is not None
        result.with_devices += bool(plugin.devices)
        result.pending += plugin.node is None
        return True

    async def _place(self, pod: Json, scheduler: str) -> tuple[str, PlacedPod] | None:
        """Give a pod to a scheduler and wait for its answer; one that has no node is taken away. None = refused."""
        try:
            created = await self._stage.create(with_scheduler(pod, scheduler))
        except RefusedError:
            return None
        uid, sightings = created["metadata"]["uid"], self._watch.sightings

        def has_answered() -> bool:
            seen = sightings.get(uid)
            return seen is not None and bool(seen.nodes or seen.message)

        if not await self._watch.until(has_answered, _ANSWER_SECONDS):
            raise LongshoreError(f"`{scheduler}` said nothing about {pod['metadata']['name']} in {_ANSWER_SECONDS:g} s")
        seen = sightings.pop(uid)
        if not seen.nodes:
            await self._stage.remove(created)
            return uid, PlacedPod(None, message=seen.message)
        asks = {annotations.GPU_MILLI, annotations.GPU_COUNT} & pod["metadata"].get("annotations", {}).keys()
        notes = (await self._stage.get(created))["metadata"]["annotations"] if asks else {}
        return uid, PlacedPod(seen.nodes[0], notes.get(annotations.GPU_DEVICES, ""))

    async def _remove(self, pods: list[Json]) -> None:
        for pod in pods:
            await self._stage.remove(pod)
