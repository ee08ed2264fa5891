"""The oracle's cases on a real API server, placed by stock kube-scheduler and by ours, with no difference allowed.

Both see the same objects by their own watches. What kube-scheduler thinks is read from itself: its binding, the
condition that it writes where nothing fits, and its log, which has the score of every feasible node.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from longshore.core.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.lab.cluster import ClusterOptions, LocalCluster, api, down, parts, up
from longshore.lab.cluster.state import claim_ports
from longshore.lab.oracle.cases import describe, make_case
from longshore.lab.oracle.compare import OwnAnswer, answer
from longshore.lab.proof.live_case import Json, LiveCase, live_case, surroundings, why_not_live, with_scheduler
from longshore.lab.proof.own_scheduler import running_scheduler
from longshore.lab.proof.pod_watch import PodWatch, watching
from longshore.lab.proof.stage import RefusedError, Stage
from longshore.lab.proof.stock_log import LOG_ARGUMENTS, LogTail, final_scores

STOCK, OURS = "default-scheduler", "longshore"
_STOCK_PART = "kube-scheduler"
_SETTLE_SECONDS, _LONG_SETTLE_SECONDS = 0.1, 2.0
"""A scheduler's watches of several resources are not in step: so long they get before the pod comes."""
_ANSWER_SECONDS = 30.0
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


def difference(own: OwnAnswer, stock: Placed, ours: Placed) -> str | None:
    """Say where stock kube-scheduler, our scheduler and our scores of the same objects differ first; None = nowhere."""
    if stock.node is None or ours.node is None:
        if stock.node != ours.node or not _says_the_same(stock.message, ours.message):
            return f"stock {stock}, ours {ours}"
        return None if not own.feasible else f"both wait, and our filters let {sorted(own.feasible)} pass"
    # With one feasible node it scores nothing.
    feasible = set(stock.scores) or {stock.node}
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


def _says_the_same(stock: str, ours: str) -> bool:
    if stock.endswith(_FAILED_CLAIMS):
        return stock.removesuffix(_FAILED_CLAIMS) == ours.partition(" preemption:")[0]
    return stock.replace(_CLAIMS, "") == ours


def best_of(totals: dict[str, int]) -> set[str]:
    """Return the nodes with the highest score."""
    highest = max(totals.values())
    return {name for name, total in totals.items() if total == highest}


@contextlib.contextmanager
def cluster_without_controllers(name: str | None = None) -> Iterator[LocalCluster]:
    """Give a cluster of API server and stock kube-scheduler alone: nobody else changes or tidies a case's objects."""
    cluster = up(ClusterOptions(name=name or f"proof-{os.getpid()}", nodes=0, has_scheduler=False))
    try:
        for part in ("kube-controller-manager", "kwok"):
            cluster.stop_part(part)
        claim_ports(cluster.record, [_STOCK_PART])
        port = cluster.record.ports[_STOCK_PART]
        # Every other plugin at upstream's defaults: it is the default profile that is compared.
        stock = parts.scheduler_part(cluster.folder, _STOCK_PART, port, {"percentageOfNodesToScore": 100}, 2)
        cluster.add_part(msgspec.structs.replace(stock, command=[*stock.command, *LOG_ARGUMENTS]))
        yield cluster
    finally:
        down(cluster.name)


async def prove_live(cluster: LocalCluster, cases: int, seed: int, progress: Callable[[int, int], None]) -> LiveResult:
    """Run cases of a seed until so many were compared; `progress` hears how many are done and how many differ."""
    started, result = time.perf_counter(), LiveResult()
    async with Client(load_identity(cluster.kubeconfig)) as client, watching(client) as watch:
        await _prepare(client)
        ours = Client(load_identity(cluster.kubeconfig_for("longshore-scheduler")))
        async with ours, running_scheduler(ours, OURS):
            proof = _Proof(cluster, Stage(client), watch, result)
            index = 0
            while result.cases < cases:
                await proof.run(seed, index)
                index += 1
                progress(result.cases, len(result.differences))
    result.seconds = time.perf_counter() - started
    return result


async def _prepare(client: Client) -> None:
    for path, content in surroundings():
        await api.create_all(client, [(path, content)])


class _Proof:
    def __init__(self, cluster: LocalCluster, stage: Stage, watch: PodWatch, result: LiveResult) -> None:
        self._log = cluster.log(_STOCK_PART)
        self._stage, self._watch, self._result = stage, watch, result

    async def run(self, seed: int, index: int) -> None:
        """Compare one case; once more with more time between the watches where it differs."""
        case, result = make_case(seed, index), self._result
        reason = why_not_live(case)
        if reason is not None:
            result.left_out[reason] += 1
            return
        live = live_case(case)
        try:
            what, own = await self._compare(live, _SETTLE_SECONDS)
            if what is not None:
                result.num_late += 1
                what, own = await self._compare(live, _LONG_SETTLE_SECONDS)
        except RefusedError:
            result.left_out["the API server does not take it"] += 1
            return
        result.cases += 1
        result.num_pending += not own.feasible
        result.num_feasible += bool(own.feasible)
        result.num_ties += bool(own.feasible) and len(best_of(own.totals)) > 1
        if what is not None:
            result.num_late -= 1
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
            return difference(own, placed[STOCK], placed[OURS]), own
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
