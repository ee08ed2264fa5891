"""kube-scheduler with our plugin in a demo: its bundle is destroyed while it works, and it is killed on top of that."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from longshore.live.workload.run import Progress
from longshore_lab.cluster import LocalCluster
from longshore_lab.plugin_process import PluginProcess

FALLBACK, KEPT = "longshore_fallback_total", "longshore_model_update_failures_total"
_RANKED = "longshore_decision_duration_seconds_count"
_DESTROYED_AT, _KILLED_AT = 0.5, 0.75
"""Shares of a run: half-way the bundle goes, later the process that still has it in memory."""


class Ranked(NamedTuple):
    """What one process of kube-scheduler did for the profile `longshore`."""

    pods: int
    by_fallback: int
    """Of these, by upstream's scores."""
    kept: int
    """How often a bundle that could not be read was left alone and the last good one kept."""


@contextmanager
def ranking(cluster: LocalCluster, bundle: Path) -> Iterator[PluginProcess]:
    """Run kube-scheduler with the profiles `default-scheduler` and `longshore` as a part of the cluster."""
    process = PluginProcess(cluster)
    try:
        asyncio.run(process.start(_arguments(bundle)))
        yield process
    finally:
        process.stop()


def ranked(process: PluginProcess) -> Ranked:
    """Ask a process what it did."""
    series = asyncio.run(process.metrics())

    def total(name: str) -> int:
        return int(sum(value for key, value in series.items() if key.partition("{")[0] == name))

    return Ranked(total(_RANKED), total(FALLBACK), total(KEPT))


class Accidents:
    """Destroys the bundle half-way through a run, and later kills kube-scheduler and starts it again."""

    def __init__(self, process: PluginProcess, bundle: Path, tell: Callable[[str], None]) -> None:
        self._process, self._bundle, self._tell = process, bundle, tell
        self._left: list[tuple[float, Callable[[], None]]] = [(_DESTROYED_AT, self._destroy), (_KILLED_AT, self._kill)]
        self._threads: list[threading.Thread] = []
        self.before_the_kill: Ranked | None = None

    def watch(self, at: Progress) -> None:
        """Take how far the run is; what is due happens beside it."""
        if self._left and at.time >= self._left[0][0] * at.end:
            _, happen = self._left.pop(0)
            self._threads.append(threading.Thread(target=happen, name="accident"))
            self._threads[-1].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until what began is over."""
        for thread in self._threads:
            thread.join()

    def _destroy(self) -> None:
        for file in self._bundle.iterdir():
            file.write_bytes(file.read_bytes()[:100])
        self._tell("half-way: every file of the bundle is cut to 100 bytes; the policy in memory goes on")

    def _kill(self) -> None:
        self.before_the_kill = ranked(self._process)
        self._tell("kube-scheduler is killed and started again: there is no policy now, upstream's scores rank")
        self._process.stop(grace_seconds=0.0)
        asyncio.run(self._process.start(_arguments(self._bundle)))


def _arguments(bundle: Path) -> dict[str, Any]:
    return {"modelPath": str(bundle)}
