"""The table of FGD (USENIX ATC'23): how much of a cluster's GPUs policies allocate as demand grows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore_studies.openb.tables.levels import allocation_percent
from longshore_studies.openb.tables.runs import Played, SeededRuns

LEVELS = (80, 90, 100, 130)
"""Percent of the cluster's GPUs that have been asked for."""


class Mean(NamedTuple):
    """Over seeds."""

    mean: float
    sd: float

    @staticmethod
    def of(values: Array) -> "Mean":
        """Return mean and sample standard deviation; the latter is 0 for a single value."""
        return Mean(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


class AllocationRow(NamedTuple):
    """One pod list under one policy."""

    trace: str
    policy: str
    seeds: tuple[int, ...]
    allocation_percent: dict[int, Mean]
    refusals: int
    """Pods that found no node although one had room; every decision was checked, so that it is 0."""
    pods_per_second: float
    by_seed: dict[int, tuple[float, ...]]

    def to_json(self) -> dict[str, object]:
        """Return what `--json` prints."""
        return {
            "trace": self.trace,
            "policy": self.policy,
            "seeds": self.seeds,
            "allocation_percent": {str(level): _rounded(mean) for level, mean in self.allocation_percent.items()},
            "refusals": self.refusals,
            "pods_per_second": round(self.pods_per_second),
        }


def _rounded(mean: Mean) -> dict[str, float]:
    return {"mean": round(mean.mean, 4), "sd": round(mean.sd, 4)}


def allocation_row(batch: SeededRuns, policy: Policy, played: Played, levels: Sequence[int] = LEVELS) -> AllocationRow:
    """Measure what a policy has allocated."""
    capacity = batch.problem.nodes.gpu_capacity_milli
    by_run = [
        allocation_percent(batch.arrived_milli(run), np.cumsum(outcome.milli), capacity, levels)
        for run, outcome in enumerate(played.outcomes)
    ]
    by_seed = {level: tuple(one[level] for one in by_run) for level in levels if all(level in one for one in by_run)}
    return AllocationRow(
        trace=batch.trace,
        policy=policy.name,
        seeds=batch.seeds,
        allocation_percent={level: Mean.of(np.array(values)) for level, values in by_seed.items()},
        refusals=0,
        pods_per_second=batch.num_events / played.seconds,
        by_seed=by_seed,
    )


def published_mean(values: Mapping[int, Sequence[float]], level: int) -> Mean | None:
    """Return what was published for a level, if it was."""
    return Mean.of(np.array(values[level])) if level in values else None
