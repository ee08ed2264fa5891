"""Our own table beside the published ones: pods come and go as the trace says, and what is left on costs.

The trace is a sample: played as it is, it asks for one percent of the cluster. So time is compressed: every pod's
creation time is divided by a factor, chosen so that demand peaks at a wanted percent of the cluster's GPUs; how long a
pod runs stays as it is. Pods that find no room are lost. Of pods that are created at one moment the lowest name comes
first, after those that leave at that moment. A seed decides the order of nodes in ties, as in the published tables.

Measured is the time from when a hundredth of the pods has come until the last has: before, the cluster is all but
empty, and afterwards a few pods of many months would decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import pwr_node_watts
from longshore.core.words.errors import InputError
from longshore.policies.base import Policy
from longshore_studies.openb.tables.arrivals import arrivals
from longshore_studies.openb.tables.fgd import Mean
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.runs import Played, SeededRun, SeededRuns, alike

MEASURES = ("node_hours", "kwh", "kwh_idle_off", "pods_without_room", "gpu_hours_without_room")
_SECONDS_PER_HOUR = 3600.0
_FIRST_SHARE = 0.01
_MOST_FACTOR = 1e9
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Case:
    """A pod list at one load."""

    batch: SeededRuns
    peak_percent: float
    """The most that is asked for at a time, of the cluster's GPUs."""
    time_factor: float
    """How many times faster than in the trace pods arrive."""
    hours: Array  # [events], when each event happens
    window: tuple[float, float]
    """The hours that are measured."""


class ChurnRow(NamedTuple):
    """One pod list at one load under one policy."""

    trace: str
    policy: str
    seeds: tuple[int, ...]
    peak_percent: float
    time_factor: float
    hours: float
    measures: dict[str, Mean]
    refusals: int
    events_per_second: float

    def to_json(self) -> dict[str, object]:
        """Return what `--json` prints."""
        measures = {name: {"mean": round(one.mean, 4), "sd": round(one.sd, 4)} for name, one in self.measures.items()}
        return {
            "trace": self.trace,
            "policy": self.policy,
            "seeds": self.seeds,
            "peak_percent": round(self.peak_percent, 2),
            "time_factor": round(self.time_factor, 2),
            "hours": round(self.hours, 4),
            **measures,
            "refusals": self.refusals,
            "events_per_second": round(self.events_per_second),
        }


def with_departures(
    nodes: Nodes, lists: Mapping[str, Pods], seeds: Sequence[int], peaks: Sequence[float]
) -> tuple[Case, ...]:
    """Return all lists at all loads; a load below the trace's own is the trace as it is.

    Raises:
        InputError: a list without times, or a load that it cannot reach.
    """
    compressed: dict[str, _Timed] = {}
    runs: dict[str, list[SeededRun]] = {}
    for trace, pods in lists.items():
        ranks = [arrivals(pods, nodes, seed).node_rank for seed in seeds]
        for peak in peaks:
            timed = _compressed(trace, pods, nodes.gpu_capacity_milli, peak)
            key = f"{trace} at {peak:g} %"
            compressed[key] = timed
            runs[key] = [
                SeededRun(seed, timed.pod, timed.is_arrival, rank) for seed, rank in zip(seeds, ranks, strict=True)
            ]
    batches = alike(nodes, {key: lists[timed.trace] for key, timed in compressed.items()}, runs)
    num_pods = max(len(pods.names) for pods in lists.values())
    return tuple(
        Case(
            replace(batch, trace=timed.trace, num_pods=num_pods),
            timed.peak_percent,
            timed.factor,
            timed.seconds / _SECONDS_PER_HOUR,
            (timed.window[0] / _SECONDS_PER_HOUR, timed.window[1] / _SECONDS_PER_HOUR),
        )
        for batch, timed in zip(batches, compressed.values(), strict=True)
    )


class _Timed(NamedTuple):
    """A list's comings and goings, in order."""

    trace: str
    pod: Array  # [events]
    is_arrival: Array  # [events] bool
    seconds: Array  # [events]
    window: tuple[float, float]
    factor: float
    peak_percent: float


def _compressed(trace: str, pods: Pods, capacity_milli: int, wanted_percent: float) -> _Timed:
    """Compress time until demand peaks as wanted."""
    if pods.created is None or pods.deleted is None:
        raise InputError(
            f"got the trace `{trace}`, which has no creation and deletion times; expected one that has",
            "name those that have them, for instance `--traces default`",
        )
    all_created, lifetime = pods.created, np.maximum(pods.deleted - pods.created, 0.0)

    def timed(factor: float) -> _Timed:
        created = all_created / factor
        pod, is_arrival, seconds = _events(pods, created, created + lifetime)
        demand = np.cumsum(np.where(is_arrival, 1, -1) * pods.total_gpu_milli[pod])
        window = float(np.quantile(created, _FIRST_SHARE)), float(created.max())
        return _Timed(trace, pod, is_arrival, seconds, window, factor, 100 * float(demand.max()) / capacity_milli)

    as_it_is = timed(1.0)
    if as_it_is.peak_percent >= wanted_percent:
        return as_it_is
    found = timed(_MOST_FACTOR)
    if found.peak_percent < wanted_percent:
        raise InputError(
            f"got the load {wanted_percent:g} %, expected at most {found.peak_percent:.0f} for `{trace}`: all its pods"
            " together ask for no more",
            "ask for a lower one, or for a smaller cluster by `--nodes-scale`",
        )
    too_low = 1.0
    for _ in range(_HALVINGS):
        middle = timed(float(np.sqrt(too_low * found.factor)))
        if middle.peak_percent < wanted_percent:
            too_low = middle.factor
        else:
            found = middle
    return found


def _events(pods: Pods, created: Array, deleted: Array) -> tuple[Array, Array, Array]:
    """Return all comings and goings in order: pod, whether it comes, second."""
    num_pods = len(pods.names)
    by_name = np.empty(num_pods, np.int64)
    by_name[sorted(range(num_pods), key=pods.names.__getitem__)] = np.arange(num_pods)
    pod = np.tile(np.arange(num_pods), 2)
    is_arrival = np.arange(2 * num_pods) < num_pods
    seconds = np.concatenate([created, deleted])
    # A pod that leaves the moment it comes does so after it has come.
    turn = np.where(is_arrival, 1, np.where(deleted[pod] > created[pod], 0, 2))
    order = np.lexsort((by_name[pod], turn, seconds))
    return pod[order], is_arrival[order], seconds[order]


def churn_row(case: Case, policy: Policy, played: Played) -> ChurnRow:
    """Measure what a policy's cluster costs."""
    batch, pods = case.batch, case.batch.problem.pods
    idle_watts = float(pwr_node_watts(batch.problem.arrays).sum())
    first, last = case.window
    # What an event changes holds until the next one; outside of the window nothing counts.
    starts = np.clip(case.hours, first, last)
    lasts = np.diff(starts, append=last)
    assert pods.created is not None
    assert pods.deleted is not None
    gpu_hours = pods.total_gpu_milli * (pods.deleted - pods.created) / 1000 / _SECONDS_PER_HOUR
    by_run = []
    for run, outcome in zip(batch.runs, played.outcomes, strict=True):
        lost = run.pod[run.is_arrival & (outcome.node < 0)]
        by_run.append(
            (
                np.cumsum(outcome.nodes_on) @ lasts,
                (idle_watts + np.cumsum(outcome.watts, dtype=np.float64)) @ lasts / 1000,
                np.cumsum(outcome.watts_idle_off, dtype=np.float64) @ lasts / 1000,
                len(lost),
                gpu_hours[lost].sum(),
            )
        )
    return ChurnRow(
        trace=batch.trace,
        policy=policy.name,
        seeds=batch.seeds,
        peak_percent=case.peak_percent,
        time_factor=case.time_factor,
        hours=last - first,
        measures={name: Mean.of(values) for name, values in zip(MEASURES, np.array(by_run).T, strict=True)},
        refusals=0,
        events_per_second=batch.num_events / played.seconds,
    )
