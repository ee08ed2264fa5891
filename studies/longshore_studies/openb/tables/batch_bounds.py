"""What no policy can beat on a pod list: the bounds of `bounds.py` for the moments that a table measures.

A table's value is a mean over the arrivals of a level and over seeds. The bounds are those of the mean demand of these
moments, which bound the mean of what a policy reached at them: one program for all seeds.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore_studies.openb.tables import bounds
from longshore_studies.openb.tables.bounds import Demand, Supply
from longshore_studies.openb.tables.gate_bounds import gate_of, most_allocated_with_gate
from longshore_studies.openb.tables.levels import is_at_level
from longshore_studies.openb.tables.runs import WORKERS, SeededRuns

FORCED_PERCENT = range(90, 0, -10)
"""The bound on allocation is for policies that place all pods up to a level: the highest of these where that is
possible."""


@dataclass(frozen=True, eq=False)
class BatchBounds:
    """Bounds for one pod list and its seeds."""

    batch: SeededRuns

    @cached_property
    def supply(self) -> Supply:
        nodes = self.batch.problem.nodes
        return bounds.group_nodes(nodes.cpu_milli, nodes.memory_mib, nodes.gpu_count, np.array(nodes.model))

    @cached_property
    def _grouped(self) -> tuple[Demand, Array]:
        pods = self.batch.problem.pods
        sets = dict.fromkeys(pods.models)
        allowed = {one: [not one or model in one for model in self.supply.model] for one in sets}
        return bounds.group_pods(
            pods.cpu_milli,
            pods.memory_mib,
            pods.gpu_count,
            pods.gpu_milli,
            np.array([allowed[models] for models in pods.models]),
        )

    def arrived(self, level: int) -> Array | None:
        """Return how many pods of each class had arrived at a level, in the mean; None if the runs end before it."""
        _, class_of_pod = self._grouped
        counts = []
        for index, run in enumerate(self.batch.runs):
            at_level = is_at_level(self.batch.arrived_milli(index), self.batch.problem.nodes.gpu_capacity_milli, level)
            if not at_level.any():
                return None
            counts.append(self._mean_counts(class_of_pod[run.pod], at_level))
        found: Array = np.mean(counts, axis=0)
        return found

    def _mean_counts(self, class_of_arrival: Array, is_measured: Array) -> Array:
        """Count pods of each class, but for those that fit nowhere."""
        demand, _ = self._grouped
        counts = bounds.mean_counts(class_of_arrival, is_measured, len(demand.most))
        return np.where(bounds.placeable(self.supply, demand), counts, 0.0)

    def allocation_percent(self, level: int) -> tuple[float, int] | None:
        """Return the most that policies can allocate that placed all pods up to some percent, and that percent.

        What is forced arrives before what is measured, so that it is at most the mean that has arrived.
        """
        most = self.arrived(level)
        if most is None:
            return None
        forced = {0: np.zeros_like(most)}
        for percent in FORCED_PERCENT:
            arrived = self.arrived(percent) if percent < level else None
            if arrived is not None:
                forced[percent] = np.minimum(arrived, most)
        milli, percent = bounds.most_allocated_forcing(self.supply, self._grouped[0]._replace(most=most), forced)
        return 100 * milli / self.batch.problem.nodes.gpu_capacity_milli, percent

    def none_refused_percent(self, level: int, placed_percent: int) -> float | None:
        """Return the most that policies can allocate that place all pods up to some percent, and then all that fit.

        None where there is no such bound: no pods of the kind that it needs, or not all fit up to that percent. By
        seed, since a policy may be full at another moment in each.
        """
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(
                pool.map(lambda run: self._none_refused(run, level, placed_percent), range(len(self.batch.runs)))
            )
        whole = [one for one in found if one is not None]
        return float(np.mean(whole)) if len(whole) == len(found) else None

    def _none_refused(self, run: int, level: int, placed_percent: int) -> float | None:
        demand, class_of_pod = self._grouped
        gate = gate_of(self.supply, demand, np.bincount(class_of_pod, minlength=len(demand.most)))
        capacity = self.batch.problem.nodes.gpu_capacity_milli
        arrived, classes = self.batch.arrived_milli(run), class_of_pod[self.batch.runs[run].pod]
        is_measured, is_forced = (is_at_level(arrived, capacity, one) for one in (level, placed_percent))
        if gate is None or not is_measured.any() or (placed_percent and not is_forced.any()):
            return None
        most, forced, first = self._mean_counts(classes, is_measured), np.zeros(len(demand.most)), 0
        if placed_percent:  # 0 = none of them must be placed
            forced, first = self._mean_counts(classes, is_forced), int(np.flatnonzero(is_forced)[0])
        asked = demand._replace(most=most, forced=np.minimum(forced, most))
        milli = most_allocated_with_gate(self.supply, asked, gate, classes, is_measured, first)
        return None if milli is None else 100 * milli / capacity

    def fewest_nodes(self, level: int) -> float | None:
        """Return a lower bound on active nodes, for policies that placed all pods; None if they do not fit."""
        return self._least(level, bounds.fewest_nodes)

    def least_megawatts(self, level: int, *, idle_off: bool) -> float | None:
        """Return a lower bound on the cluster's draw, for policies that placed all pods; None if they do not fit."""
        watts = self._least(level, lambda supply, demand: bounds.least_watts(supply, demand, idle_off=idle_off))
        return None if watts is None else watts / 1e6

    def _least(self, level: int, bound: Callable[[Supply, Demand], float]) -> float | None:
        counts = self.arrived(level)
        if counts is None:
            return None
        try:
            return bound(self.supply, self._grouped[0]._replace(forced=counts, most=counts))
        except InputError:  # so many do not fit
            return None


Bounds = dict[str, dict[int, float]]
"""By measure and level; levels without a bound are left out."""


def allocation_bounds(batch: SeededRuns, levels: Iterable[int]) -> Bounds:
    """Return the bounds on allocation, and up to which percent of demand all pods must have been placed for them.

    At the last level there is a closer one, too, for policies that turn none away that fits.
    """
    found = BatchBounds(batch)
    bounded = {level: found.allocation_percent(level) for level in levels}
    # Some 20 programs for each seed, so for the last level alone.
    last = [level for level, one in bounded.items() if one][-1:]
    closer = {level: found.none_refused_percent(level, one[1]) for level in last if (one := bounded[level])}
    return {
        "allocation_percent": {level: round(one[0], 4) for level, one in bounded.items() if one},
        "placed_percent": {level: one[1] for level, one in bounded.items() if one},
        "none_refused_percent": {level: round(one, 4) for level, one in closer.items() if one is not None},
    }


def power_bounds(batch: SeededRuns, levels: Iterable[int]) -> Bounds:
    """Return the bounds on watts and nodes."""
    found = BatchBounds(batch)
    bounded: dict[str, Callable[[int], float | None]] = {
        "megawatts": lambda level: found.least_megawatts(level, idle_off=False),
        "megawatts_idle_off": lambda level: found.least_megawatts(level, idle_off=True),
        "active_nodes": found.fewest_nodes,
    }
    values = {name: {level: bound(level) for level in levels} for name, bound in bounded.items()}
    return {
        name: {level: round(value, 6) for level, value in by_level.items() if value is not None}
        for name, by_level in values.items()
    }
