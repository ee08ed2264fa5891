"""The few array operations that NumPy and JAX spell differently, and the random numbers that both compute alike.

Nothing here imports JAX: an array brings its own namespace.
"""

from typing import Any

import numpy as np

Array = Any
"""A NumPy or JAX array. Shapes stand in brackets beside each name, for instance `[nodes, resources]`."""


def namespace(array: Array) -> Any:
    """Return the array's library: `numpy` or `jax.numpy`."""
    return np if isinstance(array, np.ndarray | np.generic) else array.__array_namespace__()


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
