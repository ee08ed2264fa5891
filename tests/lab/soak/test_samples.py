"""Growth and tails of a soak's samples."""

import math
import os

import pytest

from longshore_lab.soak.samples import (
    Sample,
    growth_per_hour,
    memory_of,
    num_files_of,
    p99_ratio,
    p99_seconds,
    steady,
)
from longshore_lab.speed.cluster_metrics import Histogram

BOUNDS = (0.001, 0.002, 0.004, math.inf)


def sample(seconds: float, *counts: float) -> Sample:
    return Sample(seconds, 100, 10, Histogram(BOUNDS, counts or (0, 0, 0, 0)), 0, 0, 0)


def test_the_fill_and_the_first_fifth_after_it_do_not_count():
    samples = [sample(float(second)) for second in range(30)]
    assert [each.seconds for each in steady(samples, filled_at=10.0)] == [float(second) for second in range(14, 30)]


def test_growth_is_that_of_an_hour_and_peaks_do_not_count():
    times = [float(10 * step) for step in range(61)]
    values = [1000 + time / 36 for time in times]  # 100 in an hour
    assert growth_per_hour(times, values) == pytest.approx(0.1, rel=0.02)
    values[20] = 5000.0
    assert growth_per_hour(times, values) == pytest.approx(0.1, rel=0.05)
    assert growth_per_hour(times, [7.0] * len(times)) == 0.0


def test_p99_is_of_the_decisions_between_two_samples():
    earlier, later = sample(0.0, 1000, 1000, 1000, 1000), sample(1.0, 1000, 1000, 1100, 1100)
    assert p99_seconds([earlier, later]) == pytest.approx(0.00398)


def test_the_last_third_is_held_against_the_first():
    counts = [(100 * n, 100 * n, 100 * n, 100 * n) for n in range(6)]
    slow = [(500, 500, 500 + 100 * n, 500 + 100 * n) for n in range(1, 4)]
    samples = [sample(float(i), *each) for i, each in enumerate([*counts, *slow])]
    assert p99_ratio(samples) == pytest.approx(0.00398 / 0.00099)
    assert math.isnan(p99_ratio(samples[:3]))


def test_one_slow_minute_is_no_drift():
    counts, samples = [0.0, 0.0, 0.0, 0.0], []
    for step in range(3 * 10 * 6 + 1):  # three thirds of ten minutes, a sample every 10 s
        is_slow = 22 * 6 <= step < 23 * 6
        counts = [count + 100 * (bucket >= 2 or not is_slow) for bucket, count in enumerate(counts)]
        samples.append(sample(10.0 * step, *counts))
    assert p99_ratio(samples) == pytest.approx(1.0)
    drift = [
        each if each.seconds < 1200 else sample(each.seconds, 0, 0, 100 * each.seconds, 100 * each.seconds)
        for each in samples
    ]
    assert p99_ratio(drift) > 3


def test_a_process_is_measured():
    before = num_files_of(os.getpid())
    with open(os.devnull) as _:  # noqa: PTH123
        assert num_files_of(os.getpid()) == before + 1
    assert 10e6 < memory_of(os.getpid()) < 10e9
