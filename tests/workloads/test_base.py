"""Tests of the rules that all workloads keep."""

from dataclasses import dataclass

import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Delete
from longshore.workloads.base import check_range, in_order, seconds


@dataclass(frozen=True)
class Sample:
    value: float


def test_seconds_are_whole_milliseconds() -> None:
    assert seconds(0.1 + 0.2) == 0.3
    assert seconds(1.23456) == 1.235


def test_in_order_keeps_the_order_of_one_moment() -> None:
    events = [Delete(2.0, "c"), Delete(1.0, "b"), Delete(1.0, "a")]
    assert [event.pod for event in in_order(events)] == ["b", "a", "c"]


@pytest.mark.parametrize("value", [1, 2.5, 4])
def test_values_in_range_pass(value: float) -> None:
    check_range(Sample(value), "value", 1, 4)


@pytest.mark.parametrize("value", [0.5, 4.5, float("nan"), float("inf"), -1])
def test_values_out_of_range_are_refused_by_name(value: float) -> None:
    with pytest.raises(InputError, match=f"workload `Sample`: got value `{value}`, expected 1 or more, at most 4"):
        check_range(Sample(value), "value", 1, 4)


def test_infinity_is_refused_where_nothing_else_is_the_highest() -> None:
    with pytest.raises(InputError, match="expected more than 0"):
        check_range(Sample(float("inf")), "value", 0, above=True)
