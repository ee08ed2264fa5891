"""The table of FGD: its numbers on a small trace by hand-written rules, and the published ones where the data is."""

from pathlib import Path

import numpy as np
import pytest

from longshore.deciding.find import find_policy
from longshore_studies.openb.tables.fgd import LEVELS, Mean, allocation_row, published_mean
from longshore_studies.openb.tables.levels import PUBLISHED_POLICIES, allocation_percent, published
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.plain import play_plainly
from longshore_studies.openb.tables.runs import SeededRuns, draw, play, play_all
from studies.openb.tables.conftest import SEEDS
from studies.openb.tables.small_trace import TRACE, find_published_data

CHOSEN_AT_RANDOM = "random"


def expected_of_small(batch: SeededRuns) -> dict[tuple[str, str], dict[int, list[float]]]:
    """Return what plain packing allocates, by level and seed."""
    problem, policy = batch.problem, find_policy("gpu-packing")
    by_seed = []
    for index, run in enumerate(batch.runs):
        milli = play_plainly(problem, run, policy)[1].sum(axis=1)
        capacity = problem.nodes.gpu_capacity_milli
        by_seed.append(allocation_percent(batch.arrived_milli(index), np.cumsum(milli), capacity, LEVELS))
    return {(TRACE, "gpu-packing"): {level: [one[level] for one in by_seed] for level in LEVELS}}


@pytest.mark.parametrize("data", [None, *filter(None, [find_published_data()])], ids=lambda data: data and "published")
def test_expected_values_come_out_again(small_batch: SeededRuns, data: Path | None) -> None:
    """On the real trace: two seeds of one list, all six policies, to the last digit but for the random one."""
    if data is None:
        batch, expected = small_batch, expected_of_small(small_batch)
    else:
        batch = draw(read_nodes(data), {"default": read_pods(data, "default")}, SEEDS)[0]
        expected = {key: one for key, one in published(data.parent / "fgd_expected").items() if key[0] == "default"}
        assert len(expected) == len(PUBLISHED_POLICIES)
    for row in play_all([batch], [find_policy(policy) for _, policy in expected], allocation_row):
        for level in LEVELS:
            want = expected[row.trace, row.policy][level][: len(SEEDS)]
            tolerance = 1.5 if row.policy == CHOSEN_AT_RANDOM else 1e-9
            np.testing.assert_allclose(row.by_seed[level], want, rtol=0, atol=tolerance, err_msg=row.policy)


def test_a_row_has_means_and_deviations_over_seeds(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-packing")
    row = allocation_row(small_batch, policy, play(small_batch, policy))
    low, high = sorted(row.by_seed[130])
    assert row.allocation_percent[130].mean == pytest.approx((low + high) / 2)
    assert row.allocation_percent[130].sd == pytest.approx((high - low) / 2**0.5)
    assert 80 < row.allocation_percent[130].mean <= 100
    assert row.pods_per_second > 0


def test_a_row_as_json_has_the_agreed_fields(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-packing")
    row = allocation_row(small_batch, policy, play(small_batch, policy)).to_json()
    assert list(row) == ["trace", "policy", "seeds", "allocation_percent", "refusals", "pods_per_second"]
    assert (row["trace"], row["policy"], row["seeds"], row["refusals"]) == (TRACE, "gpu-packing", SEEDS, 0)
    percent = row["allocation_percent"]
    assert isinstance(percent, dict)
    assert list(percent) == ["80", "90", "100", "130"]
    assert {tuple(one) for one in percent.values()} == {("mean", "sd")}


def test_levels_that_no_run_reaches_are_left_out(small_batch: SeededRuns) -> None:
    policy = find_policy("gpu-packing")
    row = allocation_row(small_batch, policy, play(small_batch, policy), levels=(100, 200))
    assert list(row.allocation_percent) == [100]


def test_a_single_seed_has_no_deviation() -> None:
    assert Mean.of(np.array([3.0])) == Mean(3.0, 0.0)


def test_published_levels_may_be_missing() -> None:
    assert published_mean({80: [79.0, 81.0]}, 80) == Mean(80.0, pytest.approx(2**0.5))
    assert published_mean({80: [79.0, 81.0]}, 90) is None
