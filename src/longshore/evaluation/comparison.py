"""Policies side by side on the same pods: means with intervals, paired differences, speed, and the optimum.

Every policy meets the same traces, seed by seed; ties that a policy breaks at random are drawn by the trace's seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.assumed import announcements
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Trace
from longshore.evaluation.base import Bound
from longshore.evaluation.bounds import bound_traces, summarise
from longshore.evaluation.metrics import METRICS, Runs, assumed_metrics, first_run, make_runs, measure_all
from longshore.evaluation.series import Series, as_policy, make_series, number_or_none, with_nodes
from longshore.evaluation.speed import decisions_per_second
from longshore.evaluation.statistics import LEVEL, RESAMPLES, ROUNDING, Interval, bootstrap_means, paired
from longshore.evaluation.verdict import verdicts
from longshore.filters import filter_set
from longshore.objectives.weighted import Weighted
from longshore.policies.base import Policy
from longshore.simulator.objective import checked_objective
from longshore.simulator.params import Compiled
from longshore.simulator.play import compile_traces, play
from longshore.workloads.build import build_workload

BASELINE = "kube-default"
# Memory that the measurements of traces played together may take.
_BATCH_BYTES = 512 * 1024**2
_BYTES_PER_STEP = 128

Progress = Callable[[str, int, int], None]
"""(what is being done, how much is done, how much there is)."""


@dataclass(frozen=True)
class Row:
    """One policy."""

    policy: str
    metrics: Mapping[str, Interval]
    """By the names of `metrics.METRICS`."""
    differences: Mapping[str, Interval]
    """This policy minus the baseline, seed by seed; empty for the baseline itself."""
    values: Mapping[str, tuple[float, ...]]
    """Every seed's own number."""
    decisions_per_second: float
    """Of the policy as it would run in a cluster (`speed.py`), on this machine."""
    is_trained: bool = False

    @property
    def has_waiting(self) -> bool:
        """Whether the policy left pods waiting: then it may use less because it does less."""
        return "pending" in self.metrics and self.metrics["pending"].mean > 0.0


@dataclass(frozen=True)
class Comparison:
    """Several policies on one workload."""

    workload: str
    parameters: Mapping[str, object]
    objective: str
    filters: str
    nodes: int
    """Of the first trace."""
    seeds: tuple[int, ...]
    lag_seconds: float
    baseline: str
    level: float
    """Of the intervals."""
    rows: tuple[Row, ...]
    bounds: Mapping[str, Bound]
    """Means over the seeds, by metric; `reward_limit` is the proven side of a reward that a beam has found."""
    assumed: tuple[str, ...] = ()
    """Metrics that rest on watts or prices that nobody gave."""
    assumptions: tuple[str, ...] = ()
    """What was assumed instead, in sentences."""

    @property
    def verdicts(self) -> tuple[str, ...]:
        """What it comes to: a sentence for every trained policy, or for the best of the plain ones."""
        return verdicts(self)

    def to_json(self) -> dict[str, object]:
        """Return the comparison as plain values; what is not known is null."""
        return {
            "schema": 1,
            "workload": self.workload,
            "parameters": dict(self.parameters),
            "objective": self.objective,
            "filters": self.filters,
            "nodes": self.nodes,
            "seeds": list(self.seeds),
            "lag_seconds": self.lag_seconds,
            "baseline": self.baseline,
            "level": self.level,
            "verdict": list(self.verdicts),
            "assumed": list(self.assumed),
            "assumptions": list(self.assumptions),
            "rows": [_row_json(row) for row in self.rows],
            "bounds": {name: _bound_json(bound) for name, bound in self.bounds.items()},
        }


def compare(
    workload: str,
    policies: Sequence[str | Policy],
    objective: str = "el-rl",
    *,
    nodes: int | None = None,
    seeds: int = 12,
    first_seed: int = 0,
    lag_seconds: float = 0.0,
    filters: str | None = None,
    parameters: Mapping[str, object] | None = None,
    has_bounds: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Compare policies on a workload.

    Args:
        workload: a name of `workloads.REGISTRY`.
        policies: names of `policies.REGISTRY`, folders of bundles, or policies of the caller's own.
        objective: as `objectives.weighted.parse_objective` reads it.
        nodes: the workload's number of nodes; None = its own.
        seeds: how many traces; intervals of fewer than ten say little.
        first_seed: seeds are this one and the following.
        lag_seconds: how old latency readings can be; 0 = always fresh.
        filters: the filter set of policies given by name or folder; None = `upstream`, and a bundle's own.
        parameters: the workload's other parameters.
        has_bounds: work out how well it could be done.
        progress: is told how far it is.

    Raises:
        InputError: an unknown name, parameter or objective, or no seeds.
    """
    chosen = with_nodes(parameters, nodes)
    built = build_workload(workload, chosen)
    if seeds < 1:
        raise InputError(f"got {seeds} seeds, expected 1 or more", "10 or more make an interval worth reading")
    numbers = range(first_seed, first_seed + seeds)
    comparison = compare_traces(
        workload,
        [built.trace(seed) for seed in numbers],
        policies,
        objective,
        first_seed=first_seed,
        lag_seconds=lag_seconds,
        filters=filters,
        has_bounds=has_bounds,
        progress=progress,
    )
    return replace(comparison, parameters=chosen)


def compare_traces(
    name: str,
    traces: Sequence[Trace],
    policies: Sequence[str | Policy],
    objective: str = "el-rl",
    *,
    first_seed: int = 0,
    lag_seconds: float = 0.0,
    filters: str | None = None,
    has_bounds: bool = True,
    progress: Progress | None = None,
    series: list[Series] | None = None,
) -> Comparison:
    """Compare policies on traces, for instance one from a file several times over; see `compare`.

    The seed of random ties is `first_seed` for the first trace and one more for each that follows. A list that is given
    as `series` is filled with every policy's run on the first trace, step by step.
    """
    tell = progress or (lambda _what, _done, _total: None)
    found, asked = _found(policies, filters)
    parsed = checked_objective(objective)
    compiled = compile_traces(traces, lag_seconds=lag_seconds, seed=first_seed)
    values, first_runs = _play_all(compiled, [*found.values()], parsed, tell)
    bounds = _bounds(compiled, parsed, values, tell) if has_bounds else {}
    baseline = list(found).index(BASELINE)
    rows = [_row(number, policy, values, baseline, compiled[0]) for number, policy in enumerate(found.values())]
    if series is not None:
        series += [make_series(name, objective, one, first_seed, compiled[0], first_runs[one]) for one in asked]
    return Comparison(
        workload=name,
        parameters={},
        objective=objective,
        filters=_filters_text([found[name] for name in asked]),
        nodes=len(traces[0].nodes),
        seeds=tuple(range(first_seed, first_seed + len(traces))),
        lag_seconds=lag_seconds,
        baseline=BASELINE,
        level=LEVEL,
        rows=tuple(row for row in rows if row.policy in asked),
        bounds=bounds,
        assumed=assumed_metrics(traces[0].nodes, parsed),
        assumptions=announcements(traces[0].nodes),
    )


def _found(policies: Sequence[str | Policy], filters: str | None) -> tuple[dict[str, Policy], list[str]]:
    """Return the policies by name, the baseline among them whether asked for or not, and the names asked for."""
    if not policies:
        raise InputError("got no policies, expected at least one", "`longshore list policies` names them")
    asked = [as_policy(policy, filters) for policy in policies]
    names = [policy.name for policy in asked]
    repeated = [name for number, name in enumerate(names) if name in names[:number]]
    if repeated:
        raise InputError(f"got the policy `{repeated[0]}` twice, expected every policy once")
    found = dict(zip(names, asked, strict=True))
    # With the same filters, so that the differences do not depend on whether the baseline was asked for.
    return (found if BASELINE in found else found | {BASELINE: as_policy(BASELINE, filters)}), names


def _filters_text(policies: Sequence[Policy]) -> str:
    """Name the filter set of all policies or, where they differ, who runs behind which."""
    groups: dict[str, list[str]] = {}
    for policy in policies:
        groups.setdefault(policy.filters, []).append(policy.name)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{name}: {', '.join(members)}" for name, members in groups.items())


def _play_all(
    compiled: list[Compiled], policies: Sequence[Policy], objective: Weighted, tell: Progress
) -> tuple[dict[str, Array], dict[str, Runs]]:
    """Play everything; policies with the same filters share a program.

    Returns:
        Every metric [policies, traces], and each policy's run on the first trace.
    """
    first_runs: dict[str, Runs] = {}
    values = {name: np.zeros((len(policies), len(compiled))) for name in METRICS}
    total = len(policies) * len(compiled)
    finished = 0
    for group in dict.fromkeys(policy.filters for policy in policies):
        members = [number for number, policy in enumerate(policies) if policy.filters == group]
        names = filter_set(group)
        for traces in _batches(compiled, len(members)):
            advance = partial(_advance, tell, finished, total)
            batch = [compiled[trace] for trace in traces]
            measured = play(batch, [policies[member] for member in members], objective, filters=names, progress=advance)
            runs = make_runs(batch, measured)
            for name, found in measure_all(runs).items():
                values[name][np.ix_(members, traces)] = found
            if 0 in traces:
                first_runs |= {policies[member].name: first_run(runs, row) for row, member in enumerate(members)}
            finished += len(members) * len(traces)
    return values, first_runs


def _advance(tell: Progress, before: int, total: int, done: int, _in_batch: int) -> None:
    tell("playing", before + done, total)


def _batches(compiled: Sequence[Compiled], num_policies: int) -> list[list[int]]:
    """Split the traces so that the measurements of each part fit into memory."""
    largest = max(len(one.trace.events) + 2 * len(one.pod_names) for one in compiled)
    per_trace = num_policies * largest * (_BYTES_PER_STEP + 4 * len(compiled[0].params.is_present))
    size = max(_BATCH_BYTES // per_trace, 1)
    return [list(range(first, min(first + size, len(compiled)))) for first in range(0, len(compiled), size)]


def _bounds(
    compiled: Sequence[Compiled], objective: Weighted, values: Mapping[str, Array], tell: Progress
) -> dict[str, Bound]:
    found = bound_traces(compiled, objective, progress=lambda done, total: tell("bounds", done, total))
    for number, bounds in enumerate(found):
        # Of a policy that leaves pods waiting a bound says nothing.
        counts = values["pending"][:, number] == 0
        for name in bounds:
            if name in values and counts.any():
                bounds[name] = _with_policies(bounds[name], values[name][counts, number])
    return summarise(found)


def _with_policies(bound: Bound, reached: Array) -> Bound:
    """Learn from what the policies did: one at a proven limit shows the optimum, one above a beam raises its value."""
    if bound.value is None or bound.is_exact:
        return bound
    sign = 1.0 if METRICS[bound.metric].better == "more" else -1.0
    best = sign * float((sign * reached).max())
    tolerance = ROUNDING * max(1.0, abs(bound.value))
    if not bound.is_reached:
        is_reached = abs(best - bound.value) <= tolerance
        return replace(bound, is_exact=is_reached, is_reached=is_reached)
    if sign * best > sign * bound.value + tolerance:
        return replace(bound, value=best, method=f"{bound.method}, passed by a policy")
    return bound


def _row(number: int, policy: Policy, values: Mapping[str, Array], baseline: int, first: Compiled) -> Row:
    names = list(values)
    own = np.array([values[name][number] for name in names])
    base = np.array([values[name][baseline] for name in names])
    return Row(
        policy=policy.name,
        metrics=_intervals(names, own),
        differences={} if number == baseline else _intervals(names, paired(own, base)),
        values={name: tuple(column.tolist()) for name, column in zip(names, own, strict=True)},
        decisions_per_second=decisions_per_second(first, policy),
        is_trained=bool(policy.version),
    )


def _intervals(names: Sequence[str], columns: Array) -> dict[str, Interval]:
    """Return the interval of every row of `columns` [metrics, runs]."""
    found = zip(*bootstrap_means(columns.T, level=LEVEL, resamples=RESAMPLES), strict=True)
    return {
        name: Interval(float(mean), float(low), float(high))
        for name, (mean, low, high) in zip(names, found, strict=True)
    }


def _row_json(row: Row) -> dict[str, object]:
    return {
        "policy": row.policy,
        "is_trained": row.is_trained,
        "metrics": {name: _interval_json(interval) for name, interval in row.metrics.items()},
        "differences": {name: _interval_json(interval) for name, interval in row.differences.items()},
        "values": {name: [number_or_none(value) for value in values] for name, values in row.values.items()},
        "decisions_per_second": number_or_none(row.decisions_per_second),
    }


def _interval_json(interval: Interval) -> dict[str, float | None]:
    return {name: number_or_none(getattr(interval, name)) for name in ("mean", "low", "high")}


def _bound_json(bound: Bound) -> dict[str, object]:
    return {
        "value": bound.value,
        "method": bound.method,
        "is_exact": bound.is_exact,
        "is_reached": bound.is_reached,
        "condition": bound.condition,
    }
