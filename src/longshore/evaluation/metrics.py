"""What is measured of a run, each metric with its unit and its definition: the table in docs/concepts/metrics.md.

From the simulator's measurements after every step to one number per run. A measurement holds until the next step; time
is counted from the trace's first event to its end (`timeline.window`), and what happens later does not count.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.assumed import assumed_kinds
from longshore.core.words.node import POWER, PRICE, Node
from longshore.evaluation.timeline import window
from longshore.objectives.weighted import Weighted
from longshore.simulator.params import Compiled, Kind
from longshore.simulator.rollout import Measured
from longshore.simulator.state import StepTaken

_SECONDS_PER_HOUR = 3600.0
_WATTS_PER_KILOWATT = 1000.0


class Runs(NamedTuple):
    """Measurements of many runs with what the metrics share; arrays are [policies, traces, steps] unless said."""

    measured: Measured
    is_counted: Array  # bool; a step that happens before the end
    is_placed: Array  # bool; a counted step that places a pod
    seconds: Array  # float64 for which the measurement after the step holds
    pods: Array  # [traces] int64 that the trace creates until its end
    nodes: Array  # [traces] int64


Compute = Callable[[Runs], Array]
"""Runs -> [policies, traces] float64; nan = not defined for the run."""


@dataclass(frozen=True)
class Metric:
    """One number of a run."""

    unit: str
    better: Literal["more", "less", "neither"]
    definition: str
    compute: Compute
    rests_on: str = ""
    """What of a node it rests on that may have to be assumed (`words.node`)."""


def make_runs(compiled: Sequence[Compiled], measured: Measured) -> Runs:
    """Prepare what all metrics share; `measured` [policies, traces, steps] as `simulator.play.play` returns it."""
    windows = [window(one.trace) for one in compiled]
    start, end = (np.array(column)[:, None] for column in zip(*windows, strict=True))
    outcome = measured.outcome
    is_counted = (outcome.kind != Kind.IDLE) & (outcome.time <= end)
    times = np.clip(outcome.time, start, end)
    last = np.broadcast_to(end, (*times.shape[:2], 1))
    creates = [one.params.event_time[one.params.event_kind == Kind.CREATE] for one in compiled]
    return Runs(
        measured=measured,
        is_counted=is_counted,
        is_placed=is_counted & (outcome.node >= 0),
        seconds=np.diff(np.concatenate([times, last], axis=2), axis=2),
        pods=np.array([(times <= until).sum() for times, (_, until) in zip(creates, windows, strict=True)]),
        nodes=np.array([len(one.trace.nodes) for one in compiled]),
    )


def first_run(runs: Runs, policy: int) -> Runs:
    """Cut out one policy's run on the first trace."""

    def cut(values: Array) -> Array:
        return values[policy : policy + 1, :1]

    return Runs(
        measured=Measured(StepTaken(*map(cut, runs.measured.outcome)), *map(cut, runs.measured[1:])),
        is_counted=cut(runs.is_counted),
        is_placed=cut(runs.is_placed),
        seconds=cut(runs.seconds),
        pods=runs.pods[:1],
        nodes=runs.nodes[:1],
    )


def assumed_metrics(nodes: Iterable[Node], objective: Weighted) -> tuple[str, ...]:
    """Return the metrics that rest on what was assumed of the nodes, the reward among them where the objective does."""
    kinds = assumed_kinds(nodes)
    is_reward = not kinds.isdisjoint(objective.rests_on)
    return tuple(
        name
        for name, metric in METRICS.items()
        if metric.rests_on in kinds or (is_reward and name in ("reward", "reward_per_placement"))
    )


def measure_all(runs: Runs) -> dict[str, Array]:
    """Compute every metric: name to [policies, traces]."""
    return {name: metric.compute(runs) for name, metric in METRICS.items()}


def over_time(runs: Runs, values: Array) -> Array:
    """Return the time-weighted mean; where no time passes, the value at the end."""
    total = runs.seconds.sum(axis=2)
    weighted = (values * runs.seconds).sum(axis=2)
    return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), values[:, :, -1])


def is_success(runs: Runs) -> Array:
    """Say which steps place a pod well: within its hard limit, and without switching a node on needlessly."""
    measured = runs.measured
    switched_on = runs.is_placed & measured.switched_on
    num_off = runs.nodes[:, None] - (measured.active_nodes - 1)
    # With more feasible nodes than nodes that are off, one that is on could have taken the pod.
    is_needless = switched_on & (measured.outcome.feasible > num_off)
    return runs.is_placed & ~measured.is_beyond_limit & ~is_needless


def _share(count: Array, total: Array) -> Array:
    return np.where(total > 0, count / np.maximum(total, 1), np.nan)


def _latencies(runs: Runs, statistic: Callable[[Array], float]) -> Array:
    values = np.where(runs.is_placed, runs.measured.latency_ms, np.nan)
    found = np.full(values.shape[:2], np.nan)
    for index in np.ndindex(*found.shape):
        known = values[index][~np.isnan(values[index])]
        found[index] = statistic(known) if known.size else np.nan
    return found


def _p99(values: Array) -> float:
    return float(np.quantile(values, 0.99, method="inverted_cdf"))


def _kwh(runs: Runs, watts: Array) -> Array:
    joules = (watts * runs.seconds).sum(axis=2)
    return joules / _SECONDS_PER_HOUR / _WATTS_PER_KILOWATT


def _unschedulable(runs: Runs) -> Array:
    """Pods that exist by the end and were never placed; a pod may be placed again after its node failed."""
    placed = np.where(runs.is_placed, runs.measured.outcome.pod, -1)
    found = np.zeros(placed.shape[:2])
    for policy, trace in np.ndindex(*found.shape):
        ever = np.unique(placed[policy, trace])
        found[policy, trace] = runs.pods[trace] - (ever >= 0).sum()
    return found


def _violations(runs: Runs) -> Array:
    return (runs.is_placed & runs.measured.is_beyond_limit).sum(axis=2)


def _late_after_change(runs: Runs) -> Array:
    """Count changes of latencies whose first placement afterwards is beyond the pod's soft limit."""
    is_change = runs.is_counted & (runs.measured.outcome.kind == Kind.LATENCY)
    # For every step, how many changes came before it: a placement is the first after one if that number is new.
    changes = np.cumsum(is_change, axis=2)
    placed_after = np.where(runs.is_placed, changes, 0)
    seen_before = np.concatenate(
        [np.zeros_like(placed_after[:, :, :1]), np.maximum.accumulate(placed_after, axis=2)[:, :, :-1]], axis=2
    )
    is_first = runs.is_placed & (changes > seen_before)
    return (is_first & runs.measured.is_beyond_soft).sum(axis=2)


def _placements(runs: Runs) -> Array:
    return runs.is_placed.sum(axis=2)


def _reward(runs: Runs) -> Array:
    return np.where(runs.is_placed, runs.measured.reward, 0.0).sum(axis=2)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "reward": Metric("1", "more", "sum of the objective's reward over all placements", _reward),
        "reward_per_placement": Metric(
            "1", "more", "the same divided by the number of placements", lambda r: _share(_reward(r), _placements(r))
        ),
        "active_nodes": Metric(
            "nodes",
            "less",
            "nodes that are on (a pod keeps them from being removed; those of DaemonSets do not), mean over time",
            lambda r: over_time(r, r.measured.active_nodes),
        ),
        "peak_nodes": Metric(
            "nodes",
            "less",
            "the most nodes that are on at any moment",
            lambda r: np.where(r.is_counted, r.measured.active_nodes, 0).max(axis=2).astype(np.float64),
        ),
        "cpu_variance": Metric(
            "1",
            "less",
            "variance over the nodes that are up of requested CPU / allocatable CPU, mean over time",
            lambda r: over_time(r, r.measured.cpu_variance),
        ),
        "latency_ms": Metric(
            "ms",
            "less",
            "true latency between node and users when the pod is placed, mean over placements with a reading",
            lambda r: _latencies(r, lambda values: float(values.mean())),
        ),
        "latency_p99_ms": Metric(
            "ms", "less", "the latency that 99 % of these placements do not exceed", lambda r: _latencies(r, _p99)
        ),
        "hard_violations": Metric(
            "pods",
            "less",
            "placements on a node whose true latency is above the pod's hard limit",
            lambda r: _violations(r).astype(np.float64),
        ),
        "hard_violation_share": Metric(
            "share",
            "less",
            "these by the number of placements",
            lambda r: _share(_violations(r), _placements(r)),
        ),
        "late_after_change": Metric(
            "pods",
            "less",
            "changes of latencies after which the first pod is placed beyond its soft limit, by the true latency",
            lambda r: _late_after_change(r).astype(np.float64),
        ),
        "watts": Metric(
            "W",
            "less",
            "what all nodes that are up draw by their power curves, also those that no pod keeps on, mean over time",
            lambda r: over_time(r, r.measured.watts_idle_on),
            POWER,
        ),
        "watts_idle_off": Metric(
            "W",
            "less",
            "the same if nodes that no pod keeps on are switched off",
            lambda r: over_time(r, r.measured.watts_idle_off),
            POWER,
        ),
        "peak_watts_idle_off": Metric(
            "W",
            "less",
            "the most that is drawn at any moment if nodes that no pod keeps on are switched off",
            lambda r: np.where(r.is_counted, r.measured.watts_idle_off, 0.0).max(axis=2),
            POWER,
        ),
        "kwh": Metric("kWh", "less", "watts times time", lambda r: _kwh(r, r.measured.watts_idle_on), POWER),
        "kwh_idle_off": Metric(
            "kWh", "less", "watts_idle_off times time", lambda r: _kwh(r, r.measured.watts_idle_off), POWER
        ),
        "cost_per_hour": Metric(
            "per hour",
            "less",
            "what the nodes that are on cost, mean over time",
            lambda r: over_time(r, r.measured.cost_per_hour),
            PRICE,
        ),
        "pending": Metric(
            "pods", "less", "pods that wait for a node, mean over time", lambda r: over_time(r, r.measured.waiting)
        ),
        "unschedulable": Metric(
            "pods", "less", "pods created before the end that were never placed by then", _unschedulable
        ),
        "success_rate": Metric(
            "share",
            "more",
            "placements that keep the hard limit and switch no node on while one that is on could take the pod, by all "
            "placements and the pods that were never placed; the thesis' dashboard shows it for every 30 pods",
            lambda r: _share(is_success(r).sum(axis=2), _placements(r) + _unschedulable(r)),
        ),
        "placements": Metric(
            "pods",
            "neither",
            "times that a pod was placed; a pod whose node is lost is placed again",
            lambda r: _placements(r).astype(np.float64),
        ),
        "decisions": Metric(
            "1",
            "neither",
            "times that a pod was tried, placed or not",
            lambda r: (r.is_counted & r.measured.outcome.is_decision).sum(axis=2).astype(np.float64),
        ),
    }
)
"""Every metric by name, in the order of tables."""


def render_table() -> str:
    """Return the definitions as a Markdown table, for the docs."""
    lines = ["| metric | unit | better | definition |", "|---|---|---|---|"]
    for name, metric in METRICS.items():
        better = "-" if metric.better == "neither" else metric.better
        lines.append(f"| `{name}` | {metric.unit} | {better} | {metric.definition} |")
    return "\n".join(lines) + "\n"
