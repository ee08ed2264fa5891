"""Decisions per second, by a clock of our own."""

from itertools import count

import pytest

from evaluation.cases import mixed_trace
from longshore.core.words.trace import Trace
from longshore.evaluation.series import as_policy
from longshore.evaluation.speed import decisions_per_second
from longshore.simulator.params import compile_trace


def test_the_median_decision_counts() -> None:
    ticks = count()
    found = decisions_per_second(
        compile_trace(mixed_trace(0)), as_policy("first-fit"), clock=lambda: next(ticks) * 0.001, most_decisions=30
    )
    # Two readings of the clock to a decision, a millisecond apart; pods that find no place start the cluster again.
    assert found == pytest.approx(1000.0)
    assert next(ticks) == 2 * 31


def test_it_stops_when_its_time_is_over() -> None:
    ticks = count()
    decisions_per_second(
        compile_trace(mixed_trace(0)), as_policy("first-fit"), clock=lambda: float(next(ticks)), budget_seconds=4.5
    )
    assert next(ticks) == 2 * 6


def test_real_time_is_positive_and_no_pods_are_no_decisions() -> None:
    trace = mixed_trace(0)
    assert decisions_per_second(compile_trace(trace), as_policy("kube-default"), most_decisions=5) > 0
    assert decisions_per_second(compile_trace(Trace(trace.nodes, ())), as_policy("first-fit")) == 0.0
