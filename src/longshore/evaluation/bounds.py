"""How well a trace could be done at best: picks the strongest method that the trace allows, metric by metric.

Pods that are all alike (`test1`, `test2`, `deployments`): dynamic programming, or a beam where pods leave one by one or
there are many nodes.
Everything else: packing bounds at every moment, integrated over time; the peak by a mixed-integer program. A reward has
a bound only in the first case.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

from longshore.core.words.errors import InputError
from longshore.evaluation.base import Bound, mean_bound, missing
from longshore.evaluation.identical import Identical, make_identical
from longshore.evaluation.optimum_beam import DEFAULT_WIDTH, best_found, best_found_without_table
from longshore.evaluation.optimum_dp import Table, make_table, optimum
from longshore.evaluation.packing_bounds import Metric, bound_over_time
from longshore.evaluation.packing_milp import PeakMetric, peak_bound
from longshore.objectives.base import Objective
from longshore.simulator.params import Compiled

__all__ = ["Bound", "bound_trace", "bound_traces"]

OVER_TIME: tuple[Metric, ...] = get_args(Metric)
PEAKS: tuple[PeakMetric, ...] = get_args(PeakMetric)
_TOLERANCE = 1e-9
_NARROW_WIDTHS = (64, 512)


def bound_traces(
    compiled: Sequence[Compiled],
    objective: Objective | None = None,
    *,
    beam_width: int = DEFAULT_WIDTH,
    milp_seconds: float = 2.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Bound]]:
    """Bound every trace; see `bound_trace`. `progress` is told (traces done, traces in all)."""
    found = []
    for number, one in enumerate(compiled, start=1):
        found.append(bound_trace(one, objective, beam_width=beam_width, milp_seconds=milp_seconds))
        if progress is not None:
            progress(number, len(compiled))
    return found


def bound_trace(
    compiled: Compiled,
    objective: Objective | None = None,
    *,
    beam_width: int = DEFAULT_WIDTH,
    milp_seconds: float = 2.0,
) -> dict[str, Bound]:
    """Return the bounds of a trace by name: those of metrics, and `reward_limit` where the reward's is not proven.

    Bounds are with upstream's filters, so they hold for policies behind stricter ones too.
    """
    bounds: dict[str, Bound] = {metric: bound_over_time(compiled, metric) for metric in OVER_TIME}
    for peak in PEAKS:
        bounds[peak] = peak_bound(compiled, peak, time_limit_seconds=milp_seconds)
    try:
        problem = make_identical(compiled, objective)
    except InputError as error:
        return bounds | {"reward": missing("reward", error)}
    try:
        table = make_table(problem)
    except InputError:
        return bounds | {"reward": _without_table(problem)}
    for metric in OVER_TIME:
        bounds[metric] = _higher(optimum(table, metric), bounds[metric])
    return bounds | _reward_bounds(table, beam_width)


def summarise(bounds: Sequence[dict[str, Bound]]) -> dict[str, Bound]:
    """Return the mean over traces, by name; a limit that only some traces need is there for all."""
    names = dict.fromkeys(name for one in bounds for name in one)
    return {name: mean_bound([one.get(name, one["reward"]) for one in bounds]) for name in names}


def _without_table(problem: Identical) -> Bound:
    try:
        return best_found_without_table(problem, "reward")
    except InputError as error:
        return missing("reward", error)


def _reward_bounds(table: Table, beam_width: int) -> dict[str, Bound]:
    if table.problem.objective is None:
        return {"reward": missing("reward", InputError("no objective was given"))}
    limit = optimum(table, "reward")
    if limit.is_exact or limit.value is None:
        return {"reward": limit}
    # A narrow beam often proves what a wide one would find, in a fraction of the time.
    for width in dict.fromkeys(min(width, beam_width) for width in (*_NARROW_WIDTHS, beam_width)):
        found = best_found(table, "reward", width=width)
        if found.is_exact:
            break
    if found.value is not None and found.value >= limit.value - _TOLERANCE * max(1.0, abs(limit.value)):
        found = replace(found, is_exact=True)
    return {"reward": found} if found.is_exact else {"reward": found, "reward_limit": limit}


def _higher(exact_or_relaxed: Bound, packing: Bound) -> Bound:
    """Of two lower bounds the higher one proves more."""
    if exact_or_relaxed.is_exact or exact_or_relaxed.value is None or packing.value is None:
        return exact_or_relaxed
    return packing if packing.value > exact_or_relaxed.value else exact_or_relaxed
