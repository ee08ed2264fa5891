"""The table of PWR (CCGrid'25): what a GPU cluster draws, accepts and keeps busy as demand grows.

Watts are by PWR's model of GPU nodes (`arrays.power`), once with idle nodes left on, as it was published, and once with
nodes without pods switched off. Acceptance is the GPU that is allocated, of what was asked for. Active are the nodes
that have a pod.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import pwr_node_watts
from longshore.policies.base import Policy
from longshore_studies.openb.filling import Filled
from longshore_studies.openb.tables.fgd import Mean
from longshore_studies.openb.tables.levels import means_at_levels
from longshore_studies.openb.tables.runs import Played, SeededRuns

LEVELS = (20, 50, 80, 90, 100)
"""Percent of the cluster's GPUs that have been asked for."""

MEASURES = ("megawatts", "megawatts_idle_off", "acceptance", "active_nodes")


class PowerRow(NamedTuple):
    """One pod list under one policy; measures by name and level."""

    trace: str
    policy: str
    seeds: tuple[int, ...]
    measures: dict[str, dict[int, Mean]]
    refusals: int
    pods_per_second: float

    def to_json(self) -> dict[str, object]:
        """Return what `--json` prints."""
        measures = {
            name: {str(level): {"mean": round(one.mean, 6), "sd": round(one.sd, 6)} for level, one in by_level.items()}
            for name, by_level in self.measures.items()
        }
        return {
            "trace": self.trace,
            "policy": self.policy,
            "seeds": self.seeds,
            **measures,
            "refusals": self.refusals,
            "pods_per_second": round(self.pods_per_second),
        }


def power_row(batch: SeededRuns, policy: Policy, played: Played, levels: Sequence[int] = LEVELS) -> PowerRow:
    """Measure what a policy's cluster draws, accepts and keeps busy."""
    capacity = batch.problem.nodes.gpu_capacity_milli
    idle_watts = float(pwr_node_watts(batch.problem.arrays).sum())
    by_measure: dict[str, list[dict[int, float]]] = {name: [] for name in MEASURES}
    for run, outcome in enumerate(played.outcomes):
        arrived = batch.arrived_milli(run)
        for name, values in zip(MEASURES, _measures(outcome, arrived, idle_watts), strict=True):
            by_measure[name].append(means_at_levels(values, arrived, capacity, levels))
    return PowerRow(
        trace=batch.trace,
        policy=policy.name,
        seeds=batch.seeds,
        measures={name: _over_seeds(runs, levels) for name, runs in by_measure.items()},
        refusals=0,
        pods_per_second=batch.num_events / played.seconds,
    )


def _measures(outcome: Filled, arrived_milli: Array, idle_watts: float) -> tuple[Array, ...]:
    return (
        (idle_watts + np.cumsum(outcome.watts, dtype=np.float64)) / 1e6,
        np.cumsum(outcome.watts_idle_off, dtype=np.float64) / 1e6,
        np.cumsum(outcome.milli, dtype=np.int64) / np.maximum(arrived_milli, 1),
        np.cumsum(outcome.nodes_on, dtype=np.int64).astype(float),
    )


def _over_seeds(runs: Sequence[dict[int, float]], levels: Sequence[int]) -> dict[int, Mean]:
    reached = [level for level in levels if all(level in one for one in runs)]
    return {level: Mean.of(np.array([one[level] for one in runs])) for level in reached}
