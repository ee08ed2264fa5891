"""The published measure: what a run had allocated when a level of demand had arrived, and what others measured.

Demand and allocation are in percent of the cluster's GPUs. A level's value is the mean over the arrivals after which
the demand, rounded to a whole percent, is that level.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from longshore.core.arrays.ops import Array
from longshore_studies.openb.tables.openb import POD_PREFIX, read_table

PUBLISHED_FILE = "allocation_percent.csv"
PUBLISHED_POLICIES = {
    "01-Random": "random",
    "02-DotProd": "dot-product",
    "03-GpuClustering": "gpu-clustering",
    "04-GpuPacking": "gpu-packing",
    "05-BestFit": "gpu-best-fit",
    "06-FGD": "fgd",
}
"""Our names of the six published policies."""

_WHERE_FROM = (
    f"`{PUBLISHED_FILE}` is `experiments/analysis/expected_results/analysis_allo_discrete.csv` of "
    "hkust-adsl/kubernetes-scheduler-simulator, under another name"
)


def demand_levels(arrived_milli: Array, capacity_milli: int) -> Array:
    """Return the level that each arrival belongs to: [arrivals] int64 percent; halves go to the even one."""
    return np.rint(100.0 * arrived_milli / capacity_milli).astype(np.int64)


def is_at_level(arrived_milli: Array, capacity_milli: int, level: int) -> Array:
    """Say which arrivals [arrivals] a level is measured at; one without arrivals takes those of its two neighbours.

    None at all are left of a level that the run ended before.
    """
    levels = demand_levels(arrived_milli, capacity_milli)
    chosen = levels == level
    return chosen if chosen.any() else np.abs(levels - level) <= 1


def means_at_levels(
    values: Array, arrived_milli: Array, capacity_milli: int, wanted: Iterable[int]
) -> dict[int, float]:
    """Return the mean of `values` over each wanted level; levels that the run ended before are left out.

    `values` and `arrived_milli` are by arrival, after it.
    """
    means: dict[int, float] = {}
    for level in wanted:
        chosen = is_at_level(arrived_milli, capacity_milli, level)
        if chosen.any():
            means[level] = float(values[chosen].mean())
    return means


def allocation_percent(
    arrived_milli: Array, allocated_milli: Array, capacity_milli: int, wanted: Iterable[int]
) -> dict[int, float]:
    """Return the mean allocation in percent at each wanted level.

    It has two decimals, and so have the values that the mean is taken of: the published numbers were rounded twice.
    """
    percent = np.round(100.0 * allocated_milli / capacity_milli, 2)
    means = means_at_levels(percent, arrived_milli, capacity_milli, wanted)
    return {level: float(np.round(mean, 2)) for level, mean in means.items()}


def published(folder: Path) -> dict[tuple[str, str], dict[int, list[float]]]:
    """Read what was published: by trace and policy (our names), by level, the values in ascending order of seeds."""
    table = read_table(folder / PUBLISHED_FILE, ("workload", "sc_policy", "seed"), _WHERE_FROM)
    traces = [name.removeprefix(POD_PREFIX) for name in table.texts("workload")]
    policies = table.texts("sc_policy")
    for row, policy in enumerate(policies):
        if policy not in PUBLISHED_POLICIES:
            raise table.error(row, "sc_policy", policy, f"one of {', '.join(PUBLISHED_POLICIES)}")
    by_seed = np.argsort(table.integers("seed"), kind="stable")
    results: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(dict)
    for column in table.columns:
        if column.isdecimal():
            values = table.floats(column)
            for row in by_seed:
                key = traces[row], PUBLISHED_POLICIES[policies[row]]
                results[key].setdefault(int(column), []).append(float(values[row]))
    return dict(results)
