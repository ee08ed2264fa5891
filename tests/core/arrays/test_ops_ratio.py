"""Tests of the ratio that is correctly rounded in both libraries, where XLA's own division is not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.arrays.ops import Array, ratio
from support.jax_arrays import to_jax

RNG = np.random.default_rng(7)
NUMERATORS, DENOMINATORS = RNG.integers(0, 10**6, 2000), RNG.integers(1, 10**6, 2000)
# Of the numbers below 100, 49 has a reciprocal that gives 49 · (1 / 49) < 1.
AWKWARD = 49

WAYS: dict[str, tuple[Callable[[], Array], Array]] = {
    "both are arguments": (lambda: jax.jit(ratio)(NUMERATORS, DENOMINATORS), NUMERATORS / DENOMINATORS),
    "without jit": (lambda: ratio(jnp.asarray(NUMERATORS), jnp.asarray(AWKWARD)), NUMERATORS / AWKWARD),
    "the divisor is one number": (lambda: jax.jit(ratio)(NUMERATORS, np.asarray(AWKWARD)), NUMERATORS / AWKWARD),
    "the divisor is a constant": (
        lambda: jax.jit(lambda numerators: ratio(numerators, jnp.asarray(DENOMINATORS)))(NUMERATORS),
        NUMERATORS / DENOMINATORS,
    ),
    "one divisor for many, by vmap": (
        lambda: jax.jit(jax.vmap(ratio, in_axes=(0, None)))(NUMERATORS, np.asarray(AWKWARD)),
        NUMERATORS / AWKWARD,
    ),
    "one numerator for many, by vmap": (
        lambda: jax.jit(jax.vmap(ratio, in_axes=(None, 0)))(np.asarray(AWKWARD), DENOMINATORS),
        AWKWARD / DENOMINATORS,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_jax_divides_as_numpy_does_to_the_last_bit(way: str) -> None:
    divide, want = WAYS[way]
    got = np.asarray(divide())
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, want)


def test_numpy_gives_the_plain_quotient() -> None:
    np.testing.assert_array_equal(ratio(NUMERATORS, DENOMINATORS), NUMERATORS / DENOMINATORS)


def test_plain_division_in_jax_would_be_wrong() -> None:
    # If this fails, XLA has learnt to divide, and `ratio` can go.
    assert (np.asarray(jax.jit(jnp.divide)(to_jax(NUMERATORS), AWKWARD)) != NUMERATORS / AWKWARD).any()
