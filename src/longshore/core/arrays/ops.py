"""The few array operations that NumPy and JAX spell differently, and the random numbers that both compute alike.

Nothing here imports JAX: an array brings its own namespace.
"""

from typing import Any

import numpy as np

Array = Any
"""A NumPy or JAX array. Shapes stand in brackets beside each name, for instance `[nodes, resources]`."""


_NUMPY_TYPES = (np.ndarray, np.generic)
"""As a tuple: a union would be built at each of the many calls."""


def namespace(array: Array) -> Any:
    """Return the array's library: `numpy` or `jax.numpy`."""
    return np if isinstance(array, _NUMPY_TYPES) else array.__array_namespace__()


def segment_sum(values: Array, segments: Array, num_segments: int) -> Array:
    """Sum `values` [rows, n] by `segments` [rows, n] into [rows, num_segments], each row for itself."""
    xp = namespace(values)
    rows = values.shape[0]
    if xp is np:
        flat = (np.arange(rows)[:, None] * num_segments + segments).ravel()
        # bincount adds in float64: exact for the counts that it is used for (below 2^53).
        summed = np.bincount(flat, weights=values.ravel(), minlength=rows * num_segments)
        return summed.astype(values.dtype).reshape(rows, num_segments)
    start = xp.zeros((rows, num_segments), values.dtype)
    return start.at[xp.arange(rows)[:, None], segments].add(values)


def add_at(array: Array, index: Any, value: Array) -> Array:
    """Return a copy of `array` with `value` added at `index` (indices must be distinct)."""
    if namespace(array) is np:
        changed = array.copy()
        changed[index] += value
        return changed
    return array.at[index].add(value)


def set_at(array: Array, index: Any, value: Array) -> Array:
    """Return a copy of `array` with `value` at `index`."""
    if namespace(array) is np:
        changed = array.copy()
        changed[index] = value
        return changed
    return array.at[index].set(value)


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide integers to float64, correctly rounded in both libraries, for results that are cut to integers afterwards.

    XLA divides by a constant, or by a value that it repeats, as a multiplication with the rounded reciprocal: 49 / 49
    then is 0.999…, and a score of 100 becomes 99.
    """
    xp = namespace(numerator)
    top, bottom = numerator.astype(xp.float64), denominator.astype(xp.float64)
    if xp is np:
        return top / bottom
    # `top - top` is a zero that XLA cannot see, since it would be NaN for an infinite `top`: so the divisor is neither.
    return top / (bottom + (top - top))


# OpenBLAS, which NumPy brings along, computes a product on the calling thread alone up to these sizes.
_LONE_PRODUCT = 1 << 18
_LONE_VECTOR_PRODUCT = 9 << 10
_FOLD = 32
"""Rows that are taken as one when the largest is looked for."""
_FEW_GROUPS = 64
"""Up to so many groups of rows a product with 0 and 1 adds them up several times faster than counting does."""


without_warnings = np.errstate(invalid="ignore")
"""A decorator for what a network multiplies, not for features: no warning of results that are no numbers.

NumPy warns by the processor's flag, and now and then BLAS sets that flag where every number is in order, by what it
found beside them in a register. Where nodes are chosen, a score that is no number is the worst.
"""


def dot(one: Array, other: Array) -> Array:
    """Multiply as `@` does; in NumPy a third of a microsecond sooner."""
    if isinstance(one, _NUMPY_TYPES) and isinstance(other, _NUMPY_TYPES):
        return np.dot(one, other)
    return one @ other


def row_product(rows: Array, matrix: Array) -> Array:
    """Multiply rows [n, k] (or one row [k]) by a matrix [k, m].

    NumPy goes by blocks of rows, so small that BLAS starts no threads: for products of this size threads cost more than
    they bring, and where the cores are busy a decision would wait milliseconds for them.
    """
    if namespace(rows) is not np or rows.ndim == 1 or matrix.size == 0:
        return dot(rows, matrix)
    most = _LONE_VECTOR_PRODUCT if matrix.shape[1] == 1 else _LONE_PRODUCT
    block = max(most // matrix.size, 1)
    if rows.shape[0] <= block:
        return dot(rows, matrix)
    return _product_by_blocks(rows, np.asarray(matrix), block)


def _product_by_blocks(rows: Array, matrix: Array, block: int) -> Array:
    """Multiply block by block, in one call: columns that lie in one piece are cut up as they lie, not copied."""
    width, end = rows.shape[1], rows.shape[0] // block * block
    product = np.empty((rows.shape[0], matrix.shape[1]), np.result_type(rows, matrix))
    if rows.flags.f_contiguous:
        blocks = rows.T[:, :end].reshape(width, -1, block).transpose(1, 2, 0)
    else:
        blocks = rows[:end].reshape(-1, block, width)
    np.matmul(blocks, matrix, out=product[:end].reshape(-1, block, matrix.shape[1]))
    if end < rows.shape[0]:
        product[end:] = np.dot(rows[end:], matrix)
    return product


def weighted_sum(weights: Array, rows: Array) -> Array:
    """Add rows [n, m] up, each times its weight [n]: [m]; by blocks in NumPy, as `row_product`."""
    block = max(_LONE_VECTOR_PRODUCT // max(rows.shape[1], 1), 1)
    if namespace(rows) is not np or rows.shape[0] <= block:
        return dot(weights, rows)
    end = rows.shape[0] // block * block
    parts = weights[:end].reshape(-1, 1, block) @ rows[:end].reshape(-1, block, rows.shape[1])
    return parts.sum(axis=(0, 1)) + np.dot(weights[end:], rows[end:])


def sum_groups(rows: Array, counted: Array, groups: Array, num_groups: int) -> tuple[Array, Array]:
    """Add rows [n, m] up by their group [n] and return [num_groups, m], and of how many rows [num_groups].

    Only rows that are `counted` [n] are; groups are numbered from 0.
    """
    xp = namespace(rows)
    if xp is np and num_groups <= _FEW_GROUPS:
        belongs = ((groups == np.arange(num_groups)[:, None]) & counted).astype(rows.dtype)
        return row_product(belongs, rows), belongs.sum(axis=1)
    weights = counted.astype(rows.dtype)[:, None]
    columns = xp.concatenate([rows * weights, weights], axis=1).T
    summed = segment_sum(columns, xp.broadcast_to(groups, columns.shape), num_groups)
    return summed[:-1].T, summed[-1]


def largest_row(rows: Array) -> Array:
    """Return the largest value of every column of [n, m]."""
    if namespace(rows) is not np:
        return rows.max(axis=0)
    if rows.shape[0] < 4 * _FOLD:
        return np.maximum.reduce(rows)  # what `max` calls, after a microsecond of its own
    # Many rows side by side as one: NumPy pays for every row that it goes over, however short.
    end = rows.shape[0] // _FOLD * _FOLD
    most = rows[:end].reshape(-1, _FOLD * rows.shape[1]).max(axis=0).reshape(_FOLD, -1).max(axis=0)
    return np.maximum(most, rows[end:].max(axis=0)) if end < rows.shape[0] else most


def pick(rows: Array, columns: Array) -> Array:
    """Return of every row of [n, m] the value in its own column [n]."""
    xp = namespace(rows)
    if xp is np:
        return rows.ravel().take(np.arange(0, rows.size, rows.shape[1]) + columns)
    return xp.take_along_axis(rows, columns[:, None], axis=1)[:, 0]


def hash_uint32(seed: Array, step: Array, items: Array) -> Array:
    """Mix seed, step and item numbers into uniform uint32, the same bits in NumPy and JAX.

    Rounds of multiply and shift after Chris Wellons' triple32 (public domain constants).
    """
    xp = namespace(items)
    value = items.astype(xp.uint32) * xp.uint32(0x9E3779B1)
    for word in (seed, step):
        value = value ^ xp.asarray(word).astype(xp.uint32)
        for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB)):
            value = (value ^ (value >> xp.uint32(shift))) * xp.uint32(factor)
        value = value ^ (value >> xp.uint32(14))
    return value
