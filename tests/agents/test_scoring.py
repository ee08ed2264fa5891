"""Choices and probabilities: what may not be chosen never is, and has no part in anything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.toys import drawn, make_inputs
from longshore.agents import scoring
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.core.network.forward import SCORE, forward
from support import jax_arrays

ENVS, NODES = 5, 4
keys = st.integers(0, 10_000)


def draw(seed: int) -> tuple[jax.Array, jax.Array]:
    """Draw scores and masks; what is infeasible has the best scores, and in the first row nothing is feasible."""
    rng = np.random.default_rng(seed)
    feasible = rng.random((ENVS, NODES)) < 0.5
    feasible[0] = False
    scores = rng.normal(0, 5, (ENVS, NODES)) + np.where(feasible, 0, 1000)
    return jnp.asarray(scores, jnp.float32), jnp.asarray(feasible)


def assert_feasible(action: jax.Array, feasible: jax.Array) -> None:
    for node, mask in zip(np.asarray(action), np.asarray(feasible), strict=True):
        assert mask[node] if mask.any() else node == -1


@given(keys)
@settings(max_examples=30)
def test_no_draw_is_infeasible(seed: int) -> None:
    scores, feasible = draw(seed)
    key = jax.random.PRNGKey(seed)
    assert_feasible(scoring.sample(key, scores, feasible), feasible)
    assert_feasible(scoring.uniform(key, feasible), feasible)
    assert_feasible(scoring.pick(scores, feasible), feasible)


def test_pick_takes_the_best_that_may_be_chosen() -> None:
    scores = jnp.array([[3.0, 9.0, 5.0]])
    assert scoring.pick(scores, jnp.array([[True, False, True]])).tolist() == [2]


@given(keys)
@settings(max_examples=30)
def test_masked_probabilities_sum_to_one(seed: int) -> None:
    scores, feasible = draw(seed)
    probability = np.exp(scoring.log_probabilities(scores, feasible))
    has_any = np.asarray(feasible).any(axis=-1)
    np.testing.assert_allclose(np.where(feasible, probability, 0).sum(axis=-1)[has_any], 1.0, atol=1e-5)
    assert probability[has_any][~np.asarray(feasible)[has_any]].sum() == 0


def test_sample_follows_the_softmax_of_the_feasible() -> None:
    scores, feasible = jnp.array([0.0, np.log(3.0), 50.0], jnp.float32), jnp.array([True, True, False])
    number = 4000
    found = scoring.sample(jax.random.PRNGKey(0), jnp.tile(scores, (number, 1)), jnp.tile(feasible, (number, 1)))
    # Five deviations of the mean of a draw that is 1 three times in four.
    assert float((found == 1).mean()) == pytest.approx(0.75, abs=5 * (0.75 * 0.25 / number) ** 0.5)


def test_uniform_draws_all_feasible_alike() -> None:
    feasible = jnp.tile(jnp.array([True, False, True, True]), (6000, 1))
    found = np.bincount(scoring.uniform(jax.random.PRNGKey(1), feasible), minlength=4) / 6000
    np.testing.assert_allclose(found, [1 / 3, 0, 1 / 3, 1 / 3], atol=5 * (2 / 9 / 6000) ** 0.5)


@pytest.mark.parametrize(("number", "want"), [(1, 0.0), (2, np.log(2)), (4, np.log(4))])
def test_entropy_of_equal_scores_is_the_logarithm_of_how_many_may_be_chosen(number: int, want: float) -> None:
    feasible = jnp.arange(NODES)[None] < number
    log_p = scoring.log_probabilities(jnp.full((1, NODES), 7.0, jnp.float32), feasible)
    assert float(scoring.entropy(log_p, feasible)[0]) == pytest.approx(want, abs=1e-6)


def test_gradients_are_finite_where_something_or_all_is_masked() -> None:
    scores, feasible = draw(3)

    def loss(scores: jax.Array) -> jax.Array:
        log_p = scoring.log_probabilities(scores, feasible)
        return scoring.entropy(log_p, feasible).sum() + log_p.max(axis=-1).sum()

    assert np.isfinite(jax.grad(loss)(scores)).all()


def test_at_takes_the_entry_of_the_action() -> None:
    table = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    assert scoring.at(table, jnp.array([1, 0])).tolist() == [2.0, 3.0]
    assert np.isfinite(scoring.at(table, jnp.array([-1, -1]))).all()


def test_mean_over_counts_only_what_counts() -> None:
    values = jnp.array([1.0, 5.0, jnp.nan])
    assert float(scoring.mean_over(values, jnp.array([True, True, False]))) == 3.0
    assert float(scoring.mean_over(values, jnp.zeros(3, bool))) == 0.0


def test_evaluate_scores_every_environment_as_alone() -> None:
    blueprint = DeepSets(width=4).build(Sizes(7, 3))
    tensors = drawn(blueprint)
    single = [make_inputs(seed, 3) for seed in range(3)]
    both = jax_arrays.to_jax(jax.tree.map(lambda *leaves: np.stack(leaves), *single))
    scores, values = scoring.evaluate(blueprint, jax_arrays.to_jax(tensors), both)
    for number, inputs in enumerate(single):
        alone = forward(blueprint.ops, tensors, inputs)
        np.testing.assert_allclose(scores[number], alone[SCORE], atol=1e-5)
        np.testing.assert_allclose(values[number], alone["value"][0], atol=1e-5)
