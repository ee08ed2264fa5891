"""Reading a Prometheus page as kube-scheduler writes it."""

import math

import pytest

from longshore_lab.speed.cluster_metrics import Histogram, by_label, counter, histogram, quantile, total

PAGE = """\
# HELP scheduler_schedule_attempts_total [STABLE] Number of attempts to schedule pods
# TYPE scheduler_schedule_attempts_total counter
scheduler_schedule_attempts_total{profile="measured",result="error"} 2
scheduler_schedule_attempts_total{profile="measured",result="scheduled"} 40
scheduler_schedule_attempts_total{profile="other",result="scheduled"} 1
scheduler_seconds_bucket{le="0.001"} 10
scheduler_seconds_bucket{le="0.002"} 90
scheduler_seconds_bucket{le="+Inf"} 100
scheduler_seconds_sum 0.2
scheduler_seconds_count 100
"""


def test_counter_adds_up_the_series_with_the_labels():
    assert counter(PAGE, "scheduler_schedule_attempts_total", result="scheduled") == 41
    assert counter(PAGE, "scheduler_schedule_attempts_total", result="scheduled", profile="other") == 1


def test_counter_does_not_take_a_longer_name():
    assert counter(PAGE, "scheduler_schedule_attempts") == 0


def test_by_label_leaves_out_what_never_counted():
    page = PAGE + 'scheduler_schedule_attempts_total{profile="other",result="unschedulable"} 0\n'
    assert by_label(page, "scheduler_schedule_attempts_total", "result") == {"error": 2, "scheduled": 41}
    assert by_label(page, "scheduler_minutes", "result") == {}


def test_histogram_reads_all_buckets():
    assert histogram(PAGE, "scheduler_seconds") == Histogram((0.001, 0.002, math.inf), (10, 90, 100))


def test_histogram_that_is_missing_is_an_error():
    with pytest.raises(KeyError):
        histogram(PAGE, "scheduler_minutes")


def test_quantile_interpolates_within_its_bucket():
    assert quantile(histogram(PAGE, "scheduler_seconds"), 0.5) == pytest.approx(0.0015)
    assert quantile(histogram(PAGE, "scheduler_seconds"), 0.05) == pytest.approx(0.0005)


def test_quantile_above_the_last_bound_is_that_bound():
    assert quantile(histogram(PAGE, "scheduler_seconds"), 0.99) == 0.002


def test_quantile_of_nothing_is_no_number():
    assert math.isnan(quantile(Histogram((1.0, math.inf), (0, 0)), 0.5))


def test_total_adds_bucket_by_bucket():
    one = Histogram((1.0, math.inf), (1, 2))
    assert total([one, one, one]) == Histogram((1.0, math.inf), (3, 6))
