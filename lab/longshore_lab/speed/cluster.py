"""How fast pods are placed in a real cluster: ours beside stock kube-scheduler, one after the other.

One cluster for a number of nodes, the same pods for every scheduler, all of them waiting before it is started, and gone
before the next one. The order is turned round with every repeat, so that what grows or warms up in the cluster falls on
all alike. Only ratios within one run mean anything.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from longshore.core.words.errors import InputError, UnknownNameError
from longshore.kube.client import Client
from longshore.live import api
from longshore_lab.cluster import ClusterOptions, LocalCluster, temporary
from longshore_lab.cluster.processes import memory_bytes
from longshore_lab.speed.cluster_metrics import Histogram, quantile, total
from longshore_lab.speed.cluster_modes import (
    MODES,
    OURS,
    PLUGIN,
    PLUGINS,
    STANDALONE,
    STOCK,
    Policies,
    make_part,
    write_random_bundle,
)
from longshore_lab.speed.cluster_run import (
    Measurement,
    clear,
    exact_quantile,
    measure,
    pods,
    prepare,
    settle,
    wait_until_ready,
    wait_until_running,
)

Tell = Callable[[str], None]
MEMORY_NODES, MEMORY_PODS, MEMORY_DECISIONS = 5000, 50_000, 200
_PODS_PER_NODE = 100
"""At most, of the 110 that a node takes: the filters are to reject nobody."""
_WARM_UP_PODS = 100
_RUNNING_SECONDS = 1200.0


@dataclass(frozen=True)
class SpeedOptions:
    """What is measured."""

    nodes: tuple[int, ...] = (1000,)
    pods: int = 3000
    repeats: int = 5
    modes: tuple[str, ...] = ("stock", STANDALONE)
    policy: str = "kube-default"
    """Of `standalone`: a name, or the folder of a bundle."""
    bundle: Path | None = None
    """Of `plugin`; None = one of random weights is made."""
    is_preferred: bool = False
    """The scheduler that is measured, whichever it is, goes before the cluster's other processes."""


class Cell(NamedTuple):
    """One row of the table: a mode at a size, over all repeats."""

    mode: str
    nodes: int
    pods: int
    pods_per_second: float
    """Median; from the start of the scheduler's process to the last binding."""
    decision_p50_ms: float
    """Of all decisions of all repeats."""
    decision_p99_ms: float
    repeats: int


class Pair(NamedTuple):
    """A mode of ours against one of kube-scheduler as it is, run by run."""

    mode: str
    against: str
    nodes: int
    ratio: float
    """Median of the ratios."""
    least: float
    """Of the ratios."""
    ratios: tuple[float, ...]
    binding_ratio: float
    """Median of the ratios between the first binding and the last, without start-up."""


class Ranking(NamedTuple):
    """What our plugin's PreScore took, over all repeats of a mode at a size."""

    mode: str
    nodes: int
    prescore_p50_ms: float
    prescore_p99_ms: float
    cpu_p99_ms: float | None
    """Of the policy's processor time: without the waiting for a core that others have. Upstream's scores have none."""
    pods: int
    fallbacks: int


class Memory(NamedTuple):
    """What our scheduler holds in a large cluster; resident bytes."""

    nodes: int
    pods: int
    synced_bytes: int
    """When it had read the cluster."""
    decided_bytes: int
    """After some decisions."""
    decisions: int
    seconds_to_ready: float
    """From the start of the process."""


def sizes(text: str) -> list[int]:
    """Read cluster sizes such as `10,100,1000`.

    Raises:
        InputError: one of them is no number.
    """
    found = text.split(",")
    if not all(one.strip().isascii() and one.strip().isdigit() for one in found):
        raise InputError(f"got the sizes `{text}`, expected numbers of nodes", "for instance `--nodes 10,100,1000`")
    return [int(one) for one in found]


def check(options: SpeedOptions) -> None:
    """Refuse what cannot be measured.

    Raises:
        InputError: a number is wrong.
        UnknownNameError: there is no such mode.
    """
    for mode in options.modes:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    if not options.modes or len(set(options.modes)) < len(options.modes):
        raise InputError(f"got the modes {', '.join(options.modes) or '(none)'}, expected each at most once")
    for what, numbers in (("nodes", options.nodes), ("pods", (options.pods,)), ("repeats", (options.repeats,))):
        if not numbers or min(numbers) < 1:
            raise InputError(f"got {', '.join(map(str, numbers)) or 'no'} {what}, expected at least 1")


def measure_all(options: SpeedOptions, tell: Tell = lambda _: None) -> list[Measurement]:
    """Measure every mode at every size as often as asked for; say how long it will still take.

    Raises:
        LongshoreError: the options are wrong, the cluster does not come up, or pods were not bound.
    """
    check(options)
    runs: list[Measurement] = []
    began, total_runs = time.monotonic(), len(options.nodes) * options.repeats * len(options.modes)

    def finished(run: Measurement) -> None:
        runs.append(run)
        left = (time.monotonic() - began) / len(runs) * (total_runs - len(runs))
        tell(f"{len(runs)} of {total_runs}: {described(run)}; about {left:.0f} s left")

    for nodes in options.nodes:
        with _cluster(nodes, tell) as cluster:
            _measure_size(cluster, options, finished)
    return runs


def described(run: Measurement) -> str:
    """Say in a line what came of a run."""
    ranking, cpu_ms = "", 1000 * run.cpu_seconds / run.pods
    if run.rankings is not None:
        ranking = f", PreScore p50 {run.ranking_ms(0.5):.2f} ms, p99 {run.ranking_ms(0.99):.2f} ms"
    return (
        f"{run.mode}, {run.nodes} nodes, {run.pods} pods: {run.pods_per_second:.0f} pods/s with start-up, "
        f"{run.pods_per_second_binding:.0f} from first to last binding, decision p50 {run.decision_ms(0.5):.2f} ms, "
        f"p99 {run.decision_ms(0.99):.2f} ms{ranking}, {cpu_ms:.2f} ms of its own CPU per pod"
    )


def cells(runs: Sequence[Measurement]) -> list[Cell]:
    """Put the repeats of each mode and size together."""
    return [_cell(_of(runs, *key)) for key in _keys(runs)]


def pairs(runs: Sequence[Measurement]) -> list[Pair]:
    """Compare each mode of ours with each of kube-scheduler as it is, repeat by repeat."""
    keys = _keys(runs)
    return [
        _pair(_of(runs, mode, nodes), _of(runs, against, nodes))
        for mode, nodes in keys
        for against in STOCK
        if mode in OURS and (against, nodes) in keys
    ]


def rankings(runs: Sequence[Measurement]) -> list[Ranking]:
    """Put together what the repeats of each mode of the plugin took to rank."""
    found = []
    for mode, nodes in _keys(runs):
        if mode in PLUGINS:
            of_mode = _of(runs, mode, nodes)
            together = total(run.rankings for run in of_mode if run.rankings is not None)
            p50, p99 = (_milliseconds(together, share) for share in (0.5, 0.99))
            own = [run.cpu_durations for run in of_mode if run.cpu_durations is not None]
            cpu = _milliseconds(total(own), 0.99) if own else None
            fallbacks = sum(run.num_fallbacks for run in of_mode)
            found.append(Ranking(mode, nodes, p50, p99, cpu, int(together.counts[-1]), fallbacks))
    return found


def measure_memory(tell: Tell, nodes: int = MEMORY_NODES, count: int = MEMORY_PODS) -> Memory:
    """Start our scheduler in a cluster full of running pods and read what it holds.

    Raises:
        LongshoreError: the cluster does not come up, or our scheduler does not get ready.
    """
    with _cluster(nodes, tell) as cluster:
        names = [f"node-{index:0{len(str(nodes - 1))}}" for index in range(nodes)]

        async def work(client: Client) -> Memory:
            await prepare(client)
            tell(f"creating {count} pods that are bound already")
            await api.create_all(client, pods(count, lambda index: names[index % nodes], "bound"))
            tell("waiting until KWOK has reported them all as running")
            await wait_until_running(client, _RUNNING_SECONDS)
            await settle(cluster)
            return await _read_memory(cluster, client, count)

        return api.call(cluster.kubeconfig, work)


async def _read_memory(cluster: LocalCluster, client: Client, count: int) -> Memory:
    part = make_part(cluster, STANDALONE, Policies(), cluster.folder / "speed-decisions.db")
    began = time.monotonic()
    cluster.start_part(part.name)
    try:
        await wait_until_ready(part)
        took = time.monotonic() - began
        process = cluster.record.parts[part.name].process
        assert process is not None
        await settle(cluster)
        synced = memory_bytes(process) or 0
        await api.create_all(client, pods(MEMORY_DECISIONS, None, "late"))
        await wait_until_running(client, _RUNNING_SECONDS)
        decided = memory_bytes(process) or 0
    finally:
        await asyncio.to_thread(cluster.stop_part, part.name)
    return Memory(cluster.options.nodes, count, synced, decided, MEMORY_DECISIONS, took)


def _cluster(nodes: int, tell: Tell) -> AbstractContextManager[LocalCluster]:
    tell(f"starting a cluster of {nodes} nodes")
    return temporary(ClusterOptions(name=f"speed-{os.getpid()}-{nodes}", nodes=nodes, has_scheduler=False))


def _measure_size(cluster: LocalCluster, options: SpeedOptions, finished: Callable[[Measurement], None]) -> None:
    count = min(options.pods, cluster.options.nodes * _PODS_PER_NODE)
    bundle = options.bundle
    if PLUGIN in options.modes and bundle is None:
        bundle = write_random_bundle(cluster.folder / "speed-bundle")
    policies = Policies(options.policy, bundle)

    async def work(client: Client) -> None:
        await prepare(client)
        await settle(cluster)
        # What the API server does for the first time is not counted for whoever comes first.
        await api.create_all(client, pods(min(count, _WARM_UP_PODS)))
        await clear(client)
        for repeat in range(options.repeats):
            for mode in options.modes if repeat % 2 == 0 else reversed(options.modes):
                finished(await measure(cluster, client, mode, count, policies, is_preferred=options.is_preferred))

    api.call(cluster.kubeconfig, work)


def _milliseconds(durations: Histogram, share: float) -> float:
    return round(1000 * quantile(durations, share), 3)


def _of(runs: Sequence[Measurement], mode: str, nodes: int) -> list[Measurement]:
    return [run for run in runs if (run.mode, run.nodes) == (mode, nodes)]


def _pair(ours: Sequence[Measurement], theirs: Sequence[Measurement]) -> Pair:
    both = list(zip(ours, theirs, strict=True))
    ratios = tuple(mine.pods_per_second / other.pods_per_second for mine, other in both)
    binding = [mine.pods_per_second_binding / max(other.pods_per_second_binding, 1e-9) for mine, other in both]
    return Pair(ours[0].mode, theirs[0].mode, ours[0].nodes, median(ratios), min(ratios), ratios, median(binding))


def _keys(runs: Sequence[Measurement]) -> list[tuple[str, int]]:
    found = {(run.mode, run.nodes) for run in runs}
    return sorted(found, key=lambda key: (key[1], MODES.index(key[0])))


def _cell(runs: Sequence[Measurement]) -> Cell:
    first = runs[0]
    histograms = [run.durations for run in runs if run.durations is not None]
    if histograms:
        together = total(histograms)
        p50, p99 = (1000 * quantile(together, share) for share in (0.5, 0.99))
    else:
        latencies = [each for run in runs for each in run.latencies_ms]
        p50, p99 = (exact_quantile(latencies, share) for share in (0.5, 0.99))
    speed = median(run.pods_per_second for run in runs)
    return Cell(first.mode, first.nodes, first.pods, round(speed, 1), round(p50, 3), round(p99, 3), len(runs))
