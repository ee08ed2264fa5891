"""Plays the runs of a table: every pod list under every policy, the seeds side by side, and each run is checked."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore_studies.openb.filling import Filled, Filling, fill_all
from longshore_studies.openb.tables.arrivals import PUBLISHED_RATIO, arrivals
from longshore_studies.openb.tables.check import Placements, check_run
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.problem import Problem, Sizes, side_by_side

Row = TypeVar("Row")

WORKERS = 2
"""Runs at once: a run keeps one core busy."""


@dataclass(frozen=True, eq=False)
class SeededRun:
    """What happens to a cluster by one seed."""

    seed: int
    pod: Array  # [events] int64, rows of the pod list
    is_arrival: Array  # [events] bool; else the pod leaves
    node_rank: Array  # [nodes] int64; of nodes that tie, the lowest wins


@dataclass(frozen=True, eq=False)
class SeededRuns:
    """A pod list, played by several seeds."""

    trace: str
    problem: Problem
    runs: tuple[SeededRun, ...]
    sizes: Sizes
    num_pods: int = 0
    """Where pods leave again: how many the list has."""

    @cached_property
    def filling(self) -> Filling:
        """All seeds side by side, on the device."""
        filling: Filling = jax.device_put(side_by_side([self._filling_of(run) for run in self.runs], self.sizes))
        return filling

    def _filling_of(self, run: SeededRun) -> Filling:
        filling = self.problem.events(run.pod, run.node_rank, run.seed)
        return filling._replace(pod=run.pod.astype(np.int32), is_arrival=run.is_arrival)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.seed for run in self.runs)

    @property
    def num_events(self) -> int:
        return sum(len(run.pod) for run in self.runs)

    def arrived_milli(self, run: int) -> Array:
        """Return the GPU that had been asked for after each event of a run."""
        one = self.runs[run]
        return np.cumsum(self.problem.pods.total_gpu_milli[one.pod] * one.is_arrival)


class Played(NamedTuple):
    """What came of a batch under a policy."""

    outcomes: tuple[Filled, ...]  # by seed; [events]
    num_without_node: int
    seconds: float  # without compiling


def draw(
    nodes: Nodes, lists: Mapping[str, Pods], seeds: Sequence[int], ratio: float = PUBLISHED_RATIO
) -> tuple[SeededRuns, ...]:
    """Draw all lists by all seeds, as the published protocol does; the batches share their compiled programs."""
    runs = {}
    for trace, pods in lists.items():
        drawn = [arrivals(pods, nodes, seed, ratio) for seed in seeds]
        runs[trace] = tuple(
            SeededRun(seed, one.order, np.ones(len(one.order), bool), one.node_rank)
            for seed, one in zip(seeds, drawn, strict=True)
        )
    return alike(nodes, lists, runs)


def alike(nodes: Nodes, lists: Mapping[str, Pods], runs: Mapping[str, Sequence[SeededRun]]) -> tuple[SeededRuns, ...]:
    """Return the runs of several lists as batches of equal sizes, which share their compiled programs."""
    problems = {trace: Problem(nodes, pods, tuple(lists.values())) for trace, pods in lists.items()}
    sizes = Sizes.of(
        [problem.events(runs[trace][0].pod, runs[trace][0].node_rank) for trace, problem in problems.items()]
    )
    sizes = sizes._replace(events=max(len(run.pod) for several in runs.values() for run in several))
    return tuple(SeededRuns(trace, problem, tuple(runs[trace]), sizes) for trace, problem in problems.items())


class Programs:
    """Compiled programs: one for a policy and sizes, compiled by whoever needs it first while the others wait."""

    def __init__(self) -> None:
        self._programs: dict[object, Any] = {}
        self._locks: dict[object, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, policy: Policy, filling: Filling, num_shares: int, num_pods: int) -> Any:
        """Return the program of `fill_all`; it takes fillings of the same sizes as this one."""
        key = policy, num_shares, num_pods, tuple(part.shape for part in jax.tree.leaves(filling))
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._programs:
                self._programs[key] = fill_all.lower(policy, filling, num_shares, num_pods).compile()
        return self._programs[key]


_PROGRAMS = Programs()
"""For the whole process: a second table of the same sizes compiles nothing."""


def play(batch: SeededRuns, policy: Policy) -> Played:
    """Play a batch under a policy.

    Raises:
        LongshoreError: a pod was put where it does not fit, or found no node although one had room.
    """
    problem = batch.problem
    program = _PROGRAMS.find(policy, batch.filling, problem.num_shares, batch.num_pods)
    started = time.perf_counter()
    outcome = jax.block_until_ready(program(batch.filling))
    seconds = time.perf_counter() - started
    host = Filled(*map(np.asarray, outcome))
    outcomes = []
    num_without_node = 0
    for index, run in enumerate(batch.runs):
        mine = Filled(*[part[index, : len(run.pod)] for part in host])
        outcomes.append(mine)
        # The simulator has its nodes in the order of ties, the lists have them in that of the file.
        node = np.where(mine.node >= 0, np.argsort(run.node_rank)[mine.node], -1)
        done = Placements(run.pod, run.is_arrival, node, mine.on_device)
        num_without_node += check_run(problem.nodes, problem.pods, done)
    return Played(tuple(outcomes), num_without_node, seconds)


def play_all(
    batches: Sequence[SeededRuns],
    policies: Sequence[Policy],
    summarise: Callable[[SeededRuns, Policy, Played], Row],
    progress: Callable[[int], None] = lambda _: None,
) -> list[Row]:
    """Play every batch under every policy, two at a time; rows come back in this order."""
    rows: dict[tuple[int, int], Row] = {}

    def one(place: tuple[int, int]) -> None:
        batch, policy = batches[place[0]], policies[place[1]]
        rows[place] = summarise(batch, policy, play(batch, policy))
        progress(len(rows))

    places = [(batch, policy) for batch in range(len(batches)) for policy in range(len(policies))]
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting = [pool.submit(one, place) for place in places]
        try:
            for future in waiting:
                future.result()
        finally:
            for future in waiting:
                future.cancel()
    return [rows[place] for place in places]
