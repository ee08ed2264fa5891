"""Intervals: values by hand, coverage, and what is not known."""

import math

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.evaluation.statistics import bootstrap_means, interval, paired


@pytest.mark.parametrize("runs", [10, 20, 40])
def test_intervals_of_normal_samples_cover_the_mean(runs: int) -> None:
    samples = np.random.default_rng(3).normal(2.0, 5.0, (runs, 400))
    mean, low, high = bootstrap_means(samples, resamples=4000)
    share = ((low <= 2.0) & (high >= 2.0)).mean()
    assert 0.93 <= share <= 0.97
    np.testing.assert_allclose(mean, samples.mean(axis=0))


def test_width_is_that_of_student() -> None:
    samples = np.random.default_rng(4).normal(size=(10, 300))
    _, low, high = bootstrap_means(samples)
    # t(0.975, 9 degrees of freedom) = 2.262157
    student = 2 * 2.262157 * samples.std(axis=0, ddof=1) / math.sqrt(10)
    assert (high - low).mean() / student.mean() == pytest.approx(1.0, abs=0.03)


def test_a_level_of_one_half_is_narrower() -> None:
    samples = np.arange(20.0)
    wide, narrow = interval(samples), interval(samples, level=0.5)
    assert wide.mean == narrow.mean == 9.5
    assert wide.low < narrow.low < 9.5 < narrow.high < wide.high


def test_two_values_by_hand() -> None:
    # Means of two draws from {0, 1}: 0, 0.5, 1 with chances 1/4, 1/2, 1/4; the tails are in the outer quarters.
    found = interval([0.0, 1.0])
    assert (found.low, found.mean, found.high) == (0.0, 0.5, 1.0)


def test_equal_values_have_no_width() -> None:
    found = interval([0.1] * 10)
    assert (found.low, found.mean, found.high) == (0.1, 0.1, 0.1)


def test_one_run_has_no_interval() -> None:
    found = interval([3.0])
    assert found.mean == 3.0 and math.isnan(found.low) and math.isnan(found.high)


def test_runs_without_a_value_are_left_out() -> None:
    values = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    mean, low, high = bootstrap_means(values)
    alone = interval([1.0, 2.0, 3.0])
    assert (mean[0], low[0], high[0]) == (alone.mean, alone.low, alone.high)
    assert np.isnan([mean[1], low[1], high[1]]).all()


def test_the_same_seed_gives_the_same_interval() -> None:
    samples = np.random.default_rng(0).exponential(size=12)
    assert interval(samples, seed=5) == interval(samples, seed=5)
    assert interval(samples, seed=5) != interval(samples, seed=6)


def test_pairing_removes_what_seeds_have_in_common() -> None:
    rng = np.random.default_rng(1)
    common, noise = rng.normal(0, 100, 10), rng.normal(0, 0.1, 10)
    found = interval(paired(common + 1.0 + noise, common))
    assert found.low == pytest.approx(1.0, abs=0.2) and found.high == pytest.approx(1.0, abs=0.2)


def test_pairing_takes_rounding_for_no_difference() -> None:
    found = paired(np.array([118.6 + 2.4e-14, 2e6 + 1e-4, 1.0, np.nan]), np.array([118.6, 2e6, 1.001, 1.0]))
    assert found[:3].tolist() == [0.0, 0.0, pytest.approx(-0.001)]
    assert np.isnan(found[3])


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="at least one run"):
        bootstrap_means(np.zeros((0, 2)))
    with pytest.raises(InputError, match="level `95`"):
        interval([1.0, 2.0], level=95)
