"""Rewards on one scale: deviation 1 for every term and for their sum, and only what is negative is shifted."""

import jax.numpy as jnp
import numpy as np
import pytest

from longshore.objectives.weighted import parse_objective
from longshore.training.program.rewards import make_scale, scaled
from support import jax_arrays  # noqa: F401

DRAW = np.random.default_rng(0)
POSITIVE, NEGATIVE = DRAW.normal(5, 0.01, 500), DRAW.normal(-3000, 200, 500)
REWARDS = np.stack([POSITIVE, NEGATIVE], axis=1)
OBJECTIVE = parse_objective("ee=1,watts=0.001")


def test_terms_that_are_positive_on_average_are_not_shifted() -> None:
    scale = make_scale(OBJECTIVE, REWARDS)
    assert scale.mean[0] == 0.0


def test_terms_that_are_negative_on_average_are_brought_to_mean_zero() -> None:
    # Otherwise a pod that is not placed at all, which earns 0, would be the best of all.
    scale = make_scale(OBJECTIVE, REWARDS)
    found = scaled(scale, jnp.asarray(REWARDS), jnp.array([0.0, 1.0]))
    assert float(found.mean()) == pytest.approx(0.0, abs=1e-3)
    assert (found > 0).any()


def test_every_term_has_deviation_one() -> None:
    scale = make_scale(OBJECTIVE, REWARDS)
    for weights in np.eye(2):
        assert float(scaled(scale, jnp.asarray(REWARDS), weights).std()) == pytest.approx(1.0, rel=1e-3)


def test_the_weights_make_the_objective_with_deviation_one() -> None:
    scale = make_scale(OBJECTIVE, REWARDS)
    found = np.asarray(scaled(scale, jnp.asarray(REWARDS), scale.weights))
    plain = REWARDS @ np.array([1.0, 0.001])
    assert found.std() == pytest.approx(1.0, rel=1e-3)
    assert np.corrcoef(found, plain)[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert found.dtype == np.float32


def test_a_term_that_never_varies_is_left_as_it_is() -> None:
    scale = make_scale(parse_objective("ee"), np.full((9, 1), 7.0))
    assert scale.deviation.tolist() == [1.0]
    assert float(scaled(scale, jnp.array([7.0]), scale.weights)) == 7.0
