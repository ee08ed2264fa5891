"""What a scheduler writes to the API server for each pod that it binds, by the server's own audit log.

A full cluster is the worst day: pods wait for room that others leave, some wait for room that no node has, and every
change is a reason to try them again. Each attempt may cost an event and a condition; that is what is counted.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube import wire
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live import api
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.cluster.audit import audit_log, count_writes
from longshore_lab.speed.cluster_modes import (
    PLUGIN,
    SCHEDULER_NAME,
    STANDALONE,
    Policies,
    make_part,
    write_random_bundle,
)
from longshore_lab.speed.cluster_run import NAMESPACE, clear, prepare

REFERENCE: Final = "stock-sampled"
MODES: Final = (REFERENCE, PLUGIN, STANDALONE)
BAR: Final = 1.2
"""Of what stock kube-scheduler writes for a pod."""
HOPELESS: Final = 50
EXCHANGED_PER_SECOND: Final = 5
_BINDING = "create pods/binding"
_PODS_PER_NODE, _NODE_CPU, _POD_CPU, _HOPELESS_CPU = 8, "4", "500m", "64"
_WAITING_SHARE = 0.125
_FULL_SECONDS = 300.0
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_IMMEDIATELY = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


@dataclass(frozen=True)
class WriteOptions:
    """The cluster, and how long its pods come and go."""

    nodes: int = 100
    seconds: float = 180.0
    seed: int = 0

    @property
    def num_placed(self) -> int:
        """Pods for which there is room."""
        return self.nodes * _PODS_PER_NODE

    @property
    def num_left(self) -> int:
        """Pods that wait at any moment: for room, or in vain."""
        return int(self.num_placed * _WAITING_SHARE) + HOPELESS


class Row(NamedTuple):
    """What one scheduler wrote."""

    mode: str
    bound: int
    per_pod: float
    """Writes of all kinds for each pod that was bound."""
    ratio: float
    """Of that to what stock writes."""
    is_met: bool
    what: dict[str, int]
    """How often it wrote what."""


class _Names(msgspec.Struct):
    metadata: wire.ObjectMeta


class _List(msgspec.Struct):
    items: list[_Names]


def measure(options: WriteOptions, tell: Callable[[str], None]) -> list[Row]:
    """Let one scheduler after the other have the same pods, in one cluster."""
    cluster_options = ClusterOptions(
        name=f"writes-{os.getpid()}",
        nodes=options.nodes,
        node_cpu=_NODE_CPU,
        has_scheduler=False,
        has_audit=True,
    )
    with temporary(cluster_options, tell) as cluster, TemporaryDirectory() as scratch:
        policies = Policies(plugin=write_random_bundle(Path(scratch) / "bundle"))
        return asyncio.run(_measure(cluster, policies, options, tell))


def row(mode: str, wrote: Counter[str], reference: Counter[str]) -> Row:
    """Return the row of a scheduler beside that of the reference."""
    per_pod = wrote.total() / wrote[_BINDING]
    ratio = per_pod / (reference.total() / reference[_BINDING])
    return Row(mode, wrote[_BINDING], per_pod, ratio, ratio <= BAR, dict(wrote.most_common()))


async def _measure(
    cluster: LocalCluster, policies: Policies, options: WriteOptions, tell: Callable[[str], None]
) -> list[Row]:
    wrote: dict[str, Counter[str]] = {}
    async with Client(load_identity(cluster.kubeconfig)) as client:
        await prepare(client)
        for mode in MODES:
            tell(f"{mode}: until the cluster is full, then {options.seconds:g} s …")
            wrote[mode] = await _writes_of(cluster, client, mode, policies, options)
            await clear(client)
    return [row(mode, wrote[mode], wrote[REFERENCE]) for mode in MODES]


async def _writes_of(
    cluster: LocalCluster, client: Client, mode: str, policies: Policies, options: WriteOptions
) -> Counter[str]:
    log = audit_log(cluster.folder)
    began_at = log.stat().st_size
    load = _Load(client, random.Random(options.seed))
    await load.create(options.num_placed + options.num_left - HOPELESS, _POD_CPU)
    await load.create(HOPELESS, _HOPELESS_CPU)
    part = make_part(cluster, mode, policies, cluster.folder / f"writes-{mode}.db")
    try:
        await asyncio.to_thread(cluster.start_part, part.name)
        if not await api.until(lambda: _is_full(client, options), _FULL_SECONDS, poll_seconds=1.0):
            raise LongshoreError(f"{mode} did not fill the cluster within {_FULL_SECONDS:g} s")
        await load.exchange(options.seconds)
        cluster.check_alive([part.name])
    finally:
        await asyncio.to_thread(cluster.stop_part, part.name)
    wrote = [one for one in count_writes(log, began_at).values() if one[_BINDING]]
    if len(wrote) != 1:
        raise LongshoreError(f"{len(wrote)} users bound pods while {mode} ran, expected one")
    return wrote[0]


async def _is_full(client: Client, options: WriteOptions) -> bool:
    answer = await client.request("GET", _PODS, query={"fieldSelector": "spec.nodeName="})
    return len(msgspec.json.decode(answer, type=_List).items) <= options.num_left


@dataclass
class _Load:
    """Pods that come and go at the same pace, whatever the scheduler does."""

    client: Client
    rng: random.Random
    placed: list[str] = field(default_factory=list)
    """All but the hopeless ones."""
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))

    async def create(self, count: int, cpu: str) -> None:
        names = [f"pod-{next(self.numbers):06}" for _ in range(count)]
        if cpu != _HOPELESS_CPU:
            self.placed += names
        await api.create_all(self.client, [(_PODS, _pod(name, cpu)) for name in names])

    async def exchange(self, seconds: float) -> None:
        """Each second let some pods go, and others come."""
        ends = time.monotonic() + seconds
        while (second := time.monotonic()) < ends:
            for _ in range(EXCHANGED_PER_SECOND):
                name = self.placed.pop(self.rng.randrange(len(self.placed)))
                await self.client.request("DELETE", f"{_PODS}/{name}", body=_IMMEDIATELY)
            await self.create(EXCHANGED_PER_SECOND, _POD_CPU)
            await asyncio.sleep(max(second + 1 - time.monotonic(), 0))


def _pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "writes"}},
        "spec": {"schedulerName": SCHEDULER_NAME, "containers": [container]},
    }
