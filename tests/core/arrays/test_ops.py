"""Array operations: NumPy, JAX and plain loops agree."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from longshore.core.arrays.ops import (
    Array,
    add_at,
    dot,
    hash_uint32,
    namespace,
    row_product,
    segment_sum,
    set_at,
    weighted_sum,
)
from support.jax_arrays import to_jax

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])

# Few shapes: JAX compiles for each.
SHAPES = ((1, 1, 1), (1, 5, 3), (3, 4, 6), (2, 0, 2), (0, 3, 2))


@st.composite
def segment_cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    rows, width, num_segments = draw(st.sampled_from(SHAPES))
    values = draw(arrays_of.arrays(np.int64, (rows, width), elements=st.integers(-(2**40), 2**40)))
    segments = draw(arrays_of.arrays(np.int32, (rows, width), elements=st.integers(0, num_segments - 1)))
    return values, segments, num_segments


@given(segment_cases())
def test_segment_sum_equals_plain_loops(case: tuple[np.ndarray, np.ndarray, int]) -> None:
    values, segments, num_segments = case
    want = np.zeros((len(values), num_segments), np.int64)
    for row, (some, places) in enumerate(zip(values, segments, strict=True)):
        for value, place in zip(some, places, strict=True):
            want[row, place] += value
    for got in (segment_sum(values, segments, num_segments), segment_sum(*to_jax((values, segments)), num_segments)):
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, want)


def test_segment_sum_is_exact_up_to_two_to_the_53() -> None:
    values = np.array([[2**53 - 3, 1, 1, 1]])
    for make in (np.asarray, jnp.asarray):
        assert segment_sum(make(values), make(np.zeros((1, 4), np.int32)), 1)[0, 0] == 2**53


def test_namespace_is_the_array_own_library() -> None:
    assert namespace(np.zeros(2)) is np
    assert namespace(np.int64(3)) is np
    assert namespace(jnp.zeros(2)) is jnp.zeros(2).__array_namespace__()
    assert namespace(jnp.zeros(2)) is not np


INDICES = {
    "one row": (1, [10, 20]),
    "one column": ((slice(None), 1), [10, 20, 30]),
    "one element": ((2, 0), 10),
    "distinct rows": (np.array([0, 2]), [[1, 2], [3, 4]]),
}


@LIBRARIES
@pytest.mark.parametrize(("index", "value"), INDICES.values(), ids=INDICES)
def test_add_at_adds_there_and_leaves_the_input_alone(make: object, index: object, value: object) -> None:
    before = np.arange(6).reshape(3, 2)
    array, want = make(before), before.copy()
    want[index] += value
    got = add_at(array, index, make(np.array(value)))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(array, before)


@LIBRARIES
@pytest.mark.parametrize(("index", "value"), INDICES.values(), ids=INDICES)
def test_set_at_sets_there_and_leaves_the_input_alone(make: object, index: object, value: object) -> None:
    before = np.arange(6).reshape(3, 2)
    array, want = make(before), before.copy()
    want[index] = value
    got = set_at(array, index, make(np.array(value)))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(array, before)


uint32 = st.integers(0, 2**32 - 1)


@settings(max_examples=30)
@given(uint32, uint32, arrays_of.arrays(np.int32, 16, elements=st.integers(0, 2**31 - 1)))
def test_hash_has_the_same_bits_in_numpy_and_jax(seed: int, step: int, items: np.ndarray) -> None:
    words = np.array(seed, np.uint32), np.array(step, np.uint32)
    got, jax_got = hash_uint32(*words, items), hash_uint32(*to_jax(words), jnp.asarray(items))
    assert got.dtype == jax_got.dtype == np.uint32
    np.testing.assert_array_equal(got, jax_got)


def test_hash_keeps_its_bits_for_ever() -> None:
    # Recorded runs are repeated by seed: another mixing would change every one of them.
    got = hash_uint32(np.uint32(1), np.uint32(2), np.arange(3))
    assert got.tolist() == [1276400179, 630845960, 3205276165]


@pytest.mark.parametrize(("seed", "step"), [(0, 0), (0, 1), (1, 0), (12345, 678), (2**32 - 1, 2**32 - 1)])
def test_hash_is_roughly_uniform(seed: int, step: int) -> None:
    values = hash_uint32(np.uint32(seed), np.uint32(step), np.arange(1 << 16))
    for bits in (values >> np.uint32(24), values & np.uint32(0xFF)):
        expected = (1 << 16) / 256
        chi_square = ((np.bincount(bits, minlength=256) - expected) ** 2 / expected).sum()
        # 255 degrees of freedom: mean 255, standard deviation 23.
        assert 150 < chi_square < 380


def test_hash_differs_by_step_seed_and_order_of_the_two() -> None:
    items = np.arange(64)
    rows = [hash_uint32(np.uint32(seed), np.uint32(step), items) for seed in range(4) for step in range(4)]
    assert len({tuple(row.tolist()) for row in rows}) == 16
    winners = [int(row.argmin()) for row in rows]
    assert len(set(winners)) > 8, "neighbouring steps must not prefer the same items"


@pytest.mark.parametrize("multiply", [dot, row_product, weighted_sum])
def test_products_of_a_numpy_array_with_one_that_is_traced(multiply: Callable[[Array, Array], Array]) -> None:
    one, other = np.arange(4.0), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(jax.jit(lambda traced: multiply(one, traced))(other), one @ other)
    np.testing.assert_array_equal(jax.jit(lambda traced: multiply(traced, other))(one), one @ other)
