"""Small builders of padded arrays, for the encoders."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from longshore.core.arrays.ops import Array


def column(values: Sequence[Any], length: int, dtype: type, fill: Any = 0) -> Array:
    """Return an array of a length that starts with the values."""
    array: Array = np.full(length, fill, dtype)
    array[: len(values)] = values
    return array


def matrix(rows: Sequence[Sequence[Any]], shape: tuple[int, int], dtype: type) -> Array:
    """Return an array of a shape whose corner holds the rows, all of one length."""
    array: Array = np.zeros(shape, dtype)
    if rows and len(rows[0]):
        array[: len(rows), : len(rows[0])] = rows
    return array


def ragged(rows: Sequence[Sequence[Any]], dtype: type) -> Array:
    """Return rows of different lengths as an array, filled up with zeros."""
    array: Array = np.zeros((len(rows), max((len(row) for row in rows), default=0)), dtype)
    for i, row in enumerate(rows):
        array[i, : len(row)] = row
    return array
