"""Products and pools over rows: the blocks that NumPy takes change nothing."""

import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.arrays.ops import largest_row, pick, row_product, sum_groups, weighted_sum

# Around the sizes at which blocks begin and end, and one row short of or beyond a whole number of them.
SIZES = pytest.mark.parametrize("num_rows", [0, 1, 31, 127, 128, 129, 255, 256, 257, 288, 289, 1000, 1024])
LIBRARIES = pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) + shape[0]).normal(size=shape).astype(np.float32)


@SIZES
@pytest.mark.parametrize("width", [1, 32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_row_product_is_the_product(num_rows: int, width: int, order: str) -> None:
    rows, matrix = draw(num_rows, 34), draw(34, width)
    found = row_product(np.asarray(rows, order=order), matrix)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rows.astype(np.float64) @ matrix, rtol=1e-5, atol=1e-5)


@LIBRARIES
def test_row_product_takes_one_row_and_no_columns(make) -> None:
    assert row_product(make(draw(5)), make(draw(5, 3))).shape == (3,)
    assert row_product(make(draw(600, 0)), make(draw(0, 3))).tolist() == [[0.0] * 3] * 600


def test_row_product_takes_rows_that_lie_apart() -> None:
    rows, matrix = draw(2000, 68)[::2, ::2], draw(34, 32)
    np.testing.assert_allclose(row_product(rows, matrix), rows.copy() @ matrix, rtol=1e-5, atol=1e-5)


@SIZES
def test_weighted_sum_adds_all_rows(num_rows: int) -> None:
    rows, weights = draw(num_rows, 32), draw(num_rows)
    want = weights.astype(np.float64) @ rows
    np.testing.assert_allclose(weighted_sum(weights, rows), want, rtol=1e-5, atol=1e-4)


@SIZES
@LIBRARIES
@pytest.mark.parametrize("num_groups", [1, 5, 64, 65, 90])
def test_sum_groups_adds_the_rows_of_every_group(make, num_rows: int, num_groups: int) -> None:
    rows, counted = draw(num_rows, 3), draw(num_rows) > 0
    groups = np.arange(num_rows, dtype=np.int32) % max(num_groups - 1, 1)  # the last group is empty
    want, many = np.zeros((num_groups, 3)), np.zeros(num_groups)
    for row, group in zip(rows[counted], groups[counted], strict=True):
        want[group] += row
        many[group] += 1
    found, numbers = sum_groups(make(rows), make(counted), make(groups), num_groups)
    assert found.dtype == numbers.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(numbers, many)


@SIZES
def test_largest_row_is_the_largest_of_every_column(num_rows: int) -> None:
    rows = draw(max(num_rows, 1), 7)
    np.testing.assert_array_equal(largest_row(rows), rows.max(axis=0))


@LIBRARIES
def test_pick_takes_one_value_of_every_row(make) -> None:
    rows, columns = draw(6, 5), np.array([0, 4, 2, 2, 1, 3])
    assert pick(make(rows), make(columns)).tolist() == [row[column] for row, column in zip(rows, columns, strict=True)]
