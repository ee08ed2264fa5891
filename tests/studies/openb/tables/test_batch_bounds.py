"""Bounds for the moments that a table measures: no policy is beyond them, and what does not fit has none."""

import numpy as np
import pytest

from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.batch_bounds import BatchBounds, allocation_bounds, power_bounds
from longshore_studies.openb.tables.fgd import LEVELS, allocation_row
from longshore_studies.openb.tables.levels import is_at_level
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.problem import Problem, Sizes
from longshore_studies.openb.tables.pwr import power_row
from longshore_studies.openb.tables.runs import SeededRun, SeededRuns, play

ROUNDING = 0.01
"""Allocation is in percent of two decimals."""


def test_no_policy_allocates_beyond_the_bound(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-best-fit")
    row = allocation_row(small_batch, policy, play(small_batch, policy))
    found = allocation_bounds(small_batch, LEVELS)
    for level in LEVELS:
        assert row.allocation_percent[level].mean <= found["allocation_percent"][level] + ROUNDING
        assert 0 <= found["placed_percent"][level] < level
    assert found["allocation_percent"][130] <= 100
    assert list(found["none_refused_percent"]) == [130]
    assert row.allocation_percent[130].mean <= found["none_refused_percent"][130] + ROUNDING
    assert found["none_refused_percent"][130] <= found["allocation_percent"][130]


def test_no_policy_that_places_all_needs_less(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-best-fit")
    row = power_row(small_batch, policy, play(small_batch, policy), levels=(20, 50))
    assert row.measures["acceptance"][50].mean == 1
    found = power_bounds(small_batch, (20, 50))
    assert sorted(found) == ["active_nodes", "megawatts", "megawatts_idle_off"]
    for name, by_level in found.items():
        for level in (20, 50):
            assert 0 < by_level[level] <= row.measures[name][level].mean


def test_levels_at_which_not_all_pods_fit_have_no_bound(small_batch: SeededRuns) -> None:
    assert power_bounds(small_batch, (130, 999)) == {"megawatts": {}, "megawatts_idle_off": {}, "active_nodes": {}}
    without = {"allocation_percent": {}, "placed_percent": {}, "none_refused_percent": {}}
    assert allocation_bounds(small_batch, (999,)) == without


def test_where_nothing_must_be_placed_nothing_is_forced_into_the_closer_bound() -> None:
    """Pods without GPU arrive at 0 % of demand; that does not make them pods that all policies placed."""
    nodes = Nodes(("node",), np.array([3000]), np.array([1000]), np.array([1]), ("T4",))
    cpu, milli = np.array([2000, 500, 1000]), np.array([0, 190, 510])
    pods = Pods(("a", "b", "c"), cpu, np.ones(3, int), (milli > 0) * 1, milli, ((),) * 3, None, None)
    order = np.array([0, 0, 2, 1, 0, 2, 1, 1, 0, 2, 1, 0])
    run = SeededRun(42, order, np.ones(len(order), bool), np.arange(1))
    batch = SeededRuns("t", Problem(nodes, pods), (run,), Sizes(len(order), 3, 1))
    found = allocation_bounds(batch, (140,))
    assert found["placed_percent"] == {140: 0}
    assert 51 <= found["none_refused_percent"][140] <= found["allocation_percent"][140]


def test_what_has_arrived_is_the_mean_over_moments_and_seeds(small_batch: SeededRuns) -> None:
    counts = BatchBounds(small_batch).arrived(50)
    assert counts is not None
    arrived = []
    for index in range(len(small_batch.runs)):
        capacity = small_batch.problem.nodes.gpu_capacity_milli
        arrived.append(np.mean(1 + np.flatnonzero(is_at_level(small_batch.arrived_milli(index), capacity, 50))))
    assert counts.sum() == pytest.approx(np.mean(arrived))
