"""The oracle's cases on a real API server, placed by stock kube-scheduler and by ours, with no difference allowed.

Ours is `longshore schedule` with kube-default, which must choose as stock does; or kube-scheduler with the plugin and a
bundle of random weights, which may choose otherwise, but only among the nodes that are feasible for stock. All see the
same objects by their own watches. What kube-scheduler thinks is read from itself: its binding, the condition that it
writes where nothing fits, and its log, which has the score of every feasible node.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore.policies.bundle_folder import read_folder, write_folder
from longshore_lab import build
from longshore_lab.cluster import ClusterOptions, LocalCluster, parts, temporary
from longshore_lab.cluster.state import claim_ports
from longshore_lab.oracle.cases import describe, make_case
from longshore_lab.oracle.compare import OwnAnswer, answer
from longshore_lab.plugin_process import PluginProcess
from longshore_lab.proof.live_case import Json, LiveCase, live_case, surroundings, why_not_live, with_scheduler
from longshore_lab.proof.own_scheduler import running_scheduler
from longshore_lab.proof.pod_watch import PodWatch, watching
from longshore_lab.proof.stage import RefusedError, Stage
from longshore_lab.proof.stock_log import LOG_ARGUMENTS, LogTail, final_scores

STOCK, OURS = "stock", "longshore"
"""The names that the two listen to; `default-scheduler` is also a profile of the kube-scheduler with our plugin."""
_STOCK_PART = "kube-scheduler"
_SETTLE_SECONDS = (0.1, 2.0)
"""A scheduler's watches of several resources are not in step: so long they get before the pod comes, at every try."""
_ANSWER_SECONDS = 30.0
_RANDOM_BUNDLE = build.SOURCE.parent / "contract" / "bundles" / "deepsets-32"
_FALLBACKS = "longshore_fallback_total"
_CLAIMS = "no new claims to deallocate, "
_FAILED_CLAIMS = " not found"
"""What stock's plugin DynamicResources, which longshore does not have, says about preemption; the second where another
plugin has refused the pod before the nodes: it fails then, and nothing is said about preemption."""


@dataclass(frozen=True)
class Placed:
    """What a scheduler did with a pod."""

    node: str | None
    """None: nothing fits."""
    message: str = ""
    """Why nothing fits, as its condition says."""
    scores: dict[str, int] = field(default_factory=dict)
    """Of stock kube-scheduler: every feasible node's, where there are two or more."""


Judge = Callable[[OwnAnswer, Placed, Placed], str | None]
"""(our own answer, what stock did, what the scheduler beside it did) -> what is wrong; None = nothing."""


@dataclass(frozen=True)
class LiveDifference:
    """A case that the two schedulers see differently."""

    index: int
    what: str
    case: str


@dataclass
class LiveResult:
    """The outcome of a run."""

    cases: int = 0
    num_feasible: int = 0
    num_ties: int = 0
    """Cases in which several nodes are best."""
    num_pending: int = 0
    num_late: int = 0
    """Cases that agreed only when the watches had had longer to come in step."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Drawn cases that are no cases on a live cluster, by reason."""
    differences: list[LiveDifference] = field(default_factory=list)
    seconds: float = 0.0
    num_fallbacks: int = 0
    """Pods that upstream's scores ranked instead of the plugin's bundle."""


def difference(own: OwnAnswer, stock: Placed, ours: Placed) -> str | None:
    """Say where stock kube-scheduler, our scheduler and our scores of the same objects differ first; None = nowhere."""
    if stock.node is None or ours.node is None:
        return _waiting_difference(own, stock, ours, says_the_same=_says_the_same(stock.message, ours.message))
    feasible = feasible_to(stock)
    if feasible != set(own.feasible):
        return f"feasible nodes: stock {sorted(feasible)}, ours {sorted(own.feasible)}"
    if stock.scores and stock.scores != own.totals:
        return f"scores: stock {stock.scores}, ours {own.totals}"
    best = best_of(own.totals)
    if stock.node not in best:
        return f"stock chose {stock.node}, which is not among our best {sorted(best)}"
    if ours.node not in (best_of(stock.scores) if stock.scores else {stock.node}):
        return f"we chose {ours.node}, which is not among the best of stock's scores {stock.scores}"
    return None


def violation(own: OwnAnswer, stock: Placed, plugin: Placed) -> str | None:
    """Say what the plugin did that upstream's filters do not allow; None = nothing."""
    if stock.node is None or plugin.node is None:
        return _waiting_difference(own, stock, plugin, says_the_same=stock.message == plugin.message)
    feasible = feasible_to(stock)
    if feasible != set(own.feasible):
        return f"feasible nodes: stock {sorted(feasible)}, ours {sorted(own.feasible)}"
    return None if plugin.node in feasible else f"the plugin chose {plugin.node}, feasible are {sorted(feasible)}"


def feasible_to(stock: Placed) -> set[str]:
    """Return the nodes that stock found feasible for a pod that it placed; it scores them only if there are several."""
    return set(stock.scores) or {str(stock.node)}


def _waiting_difference(own: OwnAnswer, stock: Placed, ours: Placed, *, says_the_same: bool) -> str | None:
    if stock.node != ours.node or not says_the_same:
        return f"stock {stock}, ours {ours}"
    return None if not own.feasible else f"both wait, and our filters let {sorted(own.feasible)} pass"


def _says_the_same(stock: str, ours: str) -> bool:
    if stock.endswith(_FAILED_CLAIMS):
        return stock.removesuffix(_FAILED_CLAIMS) == ours.partition(" preemption:")[0]
    return stock.replace(_CLAIMS, "") == ours


def best_of(totals: dict[str, int]) -> set[str]:
    """Return the nodes with the highest score."""
    highest = max(totals.values())
    return {name for name, total in totals.items() if total == highest}


@contextlib.contextmanager
def cluster_without_controllers(name: str | None = None, *, has_stock: bool = True) -> Iterator[LocalCluster]:
    """Give a cluster of API server and stock kube-scheduler alone: nobody else changes or tidies a case's objects."""
    options = ClusterOptions(name=name or f"proof-{os.getpid()}", nodes=0, has_scheduler=False)
    with temporary(options) as cluster:
        for part in ("kube-controller-manager", "kwok"):
            cluster.stop_part(part)
        if has_stock:
            _start_stock(cluster)
        yield cluster


def _start_stock(cluster: LocalCluster) -> None:
    """Start it with upstream's defaults: it is the default profile that is compared."""
    claim_ports(cluster.record, [_STOCK_PART])
    port = cluster.record.ports[_STOCK_PART]
    config = {"percentageOfNodesToScore": 100, "profiles": [{"schedulerName": STOCK}]}
    stock = parts.scheduler_part(cluster.folder, _STOCK_PART, port, config, 2)
    cluster.add_part(msgspec.structs.replace(stock, command=[*stock.command, *LOG_ARGUMENTS]))


async def prove_live(
    cluster: LocalCluster,
    cases: int,
    seed: int,
    progress: Callable[[int, int], None],
    *,
    is_through_plugin: bool = False,
) -> LiveResult:
    """Run cases of a seed until so many were compared; `progress` hears how many are done and how many differ."""
    started, result = time.perf_counter(), LiveResult()
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        await _prepare(client)
        async with _running_plugin(cluster, result) if is_through_plugin else _running_ours(cluster):
            proof = _Proof(cluster, Stage(client), watch, violation if is_through_plugin else difference, result)
            index = 0
            while result.cases < cases:
                await proof.run(seed, index)
                index += 1
                progress(result.cases, len(result.differences))
    result.seconds = time.perf_counter() - started
    return result


@contextlib.asynccontextmanager
async def _running_ours(cluster: LocalCluster) -> AsyncIterator[None]:
    ours = Client(load_identity(cluster.kubeconfig_for("longshore-scheduler")))
    async with ours, running_scheduler(ours, OURS):
        yield


@contextlib.asynccontextmanager
async def _running_plugin(cluster: LocalCluster, result: LiveResult) -> AsyncIterator[None]:
    """Run kube-scheduler with the plugin, and count its fallbacks at the end."""
    folder = cluster.folder / "oracle-model"
    # Some pods of cases have latency limits, which stock kube-scheduler does not know.
    write_folder(folder, msgspec.structs.replace(read_folder(_RANDOM_BUNDLE), filters="upstream"))
    plugin = PluginProcess(cluster)
    try:
        await plugin.start({"modelPath": str(folder), "envelopeTolerance": 1, "deadline": "5s"})
        yield
        series = await plugin.metrics()
        result.num_fallbacks = int(sum(value for name, value in series.items() if name.startswith(_FALLBACKS)))
    finally:
        plugin.stop()


async def _prepare(client: Client) -> None:
    for path, content in surroundings():
        await api.create_all(client, [(path, content)])


class _Proof:
    def __init__(self, cluster: LocalCluster, stage: Stage, watch: PodWatch, judge: Judge, result: LiveResult) -> None:
        self._log = cluster.log(_STOCK_PART)
        self._stage, self._watch, self._judge, self._result = stage, watch, judge, result

    async def run(self, seed: int, index: int) -> None:
        """Compare one case; again with more time for the watches where it differs."""
        case, result = make_case(seed, index), self._result
        reason = why_not_live(case)
        if reason is not None:
            result.left_out[reason] += 1
            return
        live = live_case(case)
        try:
            for settle_seconds in _SETTLE_SECONDS:
                what, own = await self._compare(live, settle_seconds)
                if what is None:
                    break
        except RefusedError:
            result.left_out["the API server does not take it"] += 1
            return
        result.cases += 1
        result.num_pending += not own.feasible
        result.num_feasible += bool(own.feasible)
        result.num_ties += bool(own.feasible) and len(best_of(own.totals)) > 1
        result.num_late += what is None and settle_seconds > _SETTLE_SECONDS[0]
        if what is not None:
            result.differences.append(LiveDifference(index, what, describe(case)))

    async def _compare(self, live: LiveCase, settle_seconds: float) -> tuple[str | None, OwnAnswer]:
        try:
            await self._stage.put(live)
            await asyncio.sleep(settle_seconds)
            placed: dict[str, Placed] = {}
            order = (STOCK, OURS) if live.index % 2 else (OURS, STOCK)
            pod: Json = {}
            for scheduler in order:
                pod, placed[scheduler] = await self._place(live.pod, scheduler)
            own = answer(msgspec.json.encode({"id": live.index, "pod": pod, "items": await self._stage.read()}))
            return self._judge(own, placed[STOCK], placed[OURS]), own
        finally:
            await self._stage.clear()

    async def _place(self, pod: Json, scheduler: str) -> tuple[Json, Placed]:
        """Give the pod to a scheduler, and take it away again when it has answered."""
        tail = LogTail(self._log)
        created = await self._stage.create(with_scheduler(pod, scheduler))
        meta = created["metadata"]
        uid, name = meta["uid"], f"{meta['namespace']}/{meta['name']}"
        sightings = self._watch.sightings

        def has_answered() -> bool:
            seen = sightings.get(uid)
            return seen is not None and bool(seen.nodes or seen.message)

        try:
            if not await self._watch.until(has_answered, _ANSWER_SECONDS):
                raise LongshoreError(f"`{scheduler}` said nothing about the pod {name} within {_ANSWER_SECONDS:g} s")
        finally:
            await self._stage.remove(created)
        seen = sightings.pop(uid)
        if not seen.nodes:
            return created, Placed(None, seen.message)
        scores: dict[str, Any] = final_scores(tail.read(), name) if scheduler == STOCK else {}
        return created, Placed(seen.nodes[0], scores=scores)
