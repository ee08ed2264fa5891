"""Padded arrays: values first, filling after them."""

import numpy as np
import pytest

from longshore.core.arrays.padding import column, matrix, ragged


@pytest.mark.parametrize(
    ("values", "fill", "want"),
    [([1, 2], 0, [1, 2, 0]), ([1], -1, [1, -1, -1]), ([], 7, [7, 7, 7]), ([1, 2, 3], 9, [1, 2, 3])],
    ids=["zeros", "a filling", "nothing but filling", "full"],
)
def test_column_fills_up(values: list[int], fill: int, want: list[int]) -> None:
    got = column(values, 3, np.int32, fill)
    assert (got.tolist(), got.dtype) == (want, np.int32)


def test_column_refuses_more_values_than_it_has_room_for() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        column([1, 2, 3], 2, np.int64)


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        ([[1, 2]], [[1, 2, 0], [0, 0, 0]]),
        ([[1], [2]], [[1, 0, 0], [2, 0, 0]]),
        ([], [[0, 0, 0], [0, 0, 0]]),
        ([[], []], [[0, 0, 0], [0, 0, 0]]),
    ],
    ids=["one row", "short rows", "no rows", "empty rows"],
)
def test_matrix_holds_the_rows_in_its_corner(rows: list[list[int]], want: list[list[int]]) -> None:
    got = matrix(rows, (2, 3), np.int64)
    assert (got.tolist(), got.dtype) == (want, np.int64)


@pytest.mark.parametrize(
    ("rows", "want_shape", "want"),
    [
        ([[1], [2, 3], []], (3, 2), [[1, 0], [2, 3], [0, 0]]),
        ([[], []], (2, 0), [[], []]),
        ([], (0, 0), []),
    ],
    ids=["different lengths", "no terms anywhere", "no rows"],
)
def test_ragged_is_as_wide_as_the_longest_row(
    rows: list[list[int]], want_shape: tuple[int, int], want: list[list[int]]
) -> None:
    got = ragged(rows, np.int32)
    assert (got.shape, got.tolist(), got.dtype) == (want_shape, want, np.int32)
