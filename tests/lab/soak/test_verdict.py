"""The verdict of a soak: each bar is met by a calm process, and missed by one that leaks, slows down or loses."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from longshore_lab.proof.checker import Report
from longshore_lab.soak.samples import Sample
from longshore_lab.soak.verdict import rows
from longshore_lab.speed.cluster_metrics import Histogram

BOUNDS = (0.001, 0.002, 0.004, math.inf)


def calm(number: int) -> Sample:
    made = 100 * number
    return Sample(10.0 * number, 10**8, 50, Histogram(BOUNDS, (made, made, made, made)), 25_000, 10**7, 0)


def slower(number: int) -> Sample:
    late = max(0, 100 * (number - 150))
    made = 100 * number
    return replace(calm(number), decisions=Histogram(BOUNDS, (made - late, made - late, made, made)))


def missed(make: Callable[[int], Sample], count: int = 200, num_violations: int = 0, num_left: int = 0) -> list[str]:
    report = Report("v1", 9, 8, 7, 0, {"ports": num_violations}, {"ports": 1}, [])
    found = rows([make(number) for number in range(count)], 100.0, 20_000, report, num_left)
    return [row.what for row in found if not row.is_met]


@pytest.mark.parametrize("count", [40, 200])
def test_a_calm_process_meets_every_bar(count: int):
    assert missed(calm, count) == []


def test_a_leak_of_three_percent_an_hour_is_seen():
    leaking = lambda number: replace(calm(number), memory_bytes=10**8 + number * 8_333)  # noqa: E731
    assert missed(leaking) == ["resident memory: growth per hour"]


def test_a_leak_of_memory_is_seen_in_a_short_soak():
    leaking = lambda number: replace(calm(number), memory_bytes=10**8 + number * 5_000_000)  # noqa: E731
    assert missed(leaking, 40) == ["resident memory: growth, last third by first"]


def test_a_heap_that_peaks_once_in_a_short_soak_is_no_leak():
    peaking = lambda number: replace(calm(number), memory_bytes=2 * 10**8 if number == 38 else 10**8)  # noqa: E731
    assert missed(peaking, 40) == []


def test_files_that_stay_open_are_seen_in_a_short_soak():
    leaking = lambda number: replace(calm(number), num_files=50 + 4 * number)  # noqa: E731
    assert missed(leaking, 40) == ["file descriptors: most"]


def test_connections_that_a_fault_leaves_for_a_while_are_no_leak():
    kept = lambda number: replace(calm(number), num_files=80 if number > 30 else 17)  # noqa: E731
    assert missed(kept, 40) == []


def test_decisions_that_slow_down_are_seen():
    assert missed(slower) == ["p99 of a decision, last third by first"]


def test_a_log_that_is_not_pruned_is_seen():
    growing = lambda number: replace(calm(number), log_rows=200 * number)  # noqa: E731
    assert missed(growing) == ["decisions in the log"]


@pytest.mark.parametrize(
    ("counts", "what"),
    [((1, 0), "violations found by the checker"), ((0, 1), "pods left without a node or a reason")],
)
def test_what_is_wrong_in_the_cluster_is_seen(counts: tuple[int, int], what: str):
    assert missed(calm, 200, *counts) == [what]
