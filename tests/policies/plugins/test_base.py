"""Tests of scaling to the largest feasible score, in integers."""

import numpy as np
import pytest

from longshore.policies.plugins.base import scale_to_max


@pytest.mark.parametrize(
    ("raw", "feasible", "want", "want_reversed"),
    [
        pytest.param([0, 1, 2], [1, 1, 1], [0, 50, 100], [100, 50, 0], id="by the largest"),
        pytest.param([1, 2, 3], [1, 1, 1], [33, 66, 100], [67, 34, 0], id="rounded down before it is reversed"),
        pytest.param([0, 0, 0], [1, 1, 1], [0, 0, 0], [100, 100, 100], id="all nothing"),
        pytest.param([7, 7, 7], [1, 1, 1], [100, 100, 100], [0, 0, 0], id="all equal"),
        pytest.param([1, 2, 50], [1, 1, 0], [50, 100], [50, 0], id="an infeasible node sets no scale"),
        pytest.param([3, 0, 0], [1, 0, 0], [100], [0], id="one feasible node"),
    ],
)
def test_scores_are_scaled_to_the_largest_feasible_one(
    raw: list[int], feasible: list[int], want: list[int], want_reversed: list[int]
) -> None:
    amounts, mask = np.array(raw), np.array(feasible, bool)
    assert scale_to_max(amounts, mask, is_reversed=False)[mask].tolist() == want
    assert scale_to_max(amounts, mask, is_reversed=True)[mask].tolist() == want_reversed


def test_nothing_feasible_divides_by_nothing() -> None:
    assert scale_to_max(np.array([5, 6]), np.array([False, False]), is_reversed=False).dtype == np.int64
