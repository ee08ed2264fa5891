"""Evolution: weights by rank, mirrored variants, and an optimum that it finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.agents.learners.evolution import Evolution, EvolutionState, _worth
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.core.network.forward import needed, tensor_names

SIZE = 6
BEST = np.array([1.0, -2.0, 0.5], np.float32)
fitnesses = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 1e6]), min_size=SIZE, max_size=SIZE)


@given(fitnesses)
@settings(max_examples=50)
def test_weights_sum_to_nothing_and_ties_share(fitness: list[float]) -> None:
    found = np.asarray(_worth(jnp.array(fitness, jnp.float32)))
    assert found.sum() == pytest.approx(0.0, abs=1e-6)
    for value in set(fitness):
        assert np.ptp(found[[number for number, each in enumerate(fitness) if each == value]]) < 1e-6
    order = np.argsort(fitness, kind="stable")
    assert (np.diff(found[order]) >= -1e-6).all()


def test_only_the_rank_counts() -> None:
    narrow, wide = (_worth(jnp.array(one, jnp.float32)) for one in ([1.0, 3.0, 2.0, 0.0], [-9.0, 1e9, 5.0, -1e9]))
    np.testing.assert_array_equal(narrow, wide)
    assert int(jnp.argmax(narrow)) == 1


def test_where_all_did_equally_well_nothing_moves() -> None:
    learner, state = Evolution(population=SIZE), start()
    variants, noise = learner.ask(state, jax.random.PRNGKey(0))
    after, _ = learner.tell(state, noise, jnp.full(SIZE, 3.0))
    np.testing.assert_allclose(after.mean["x"], state.mean["x"], atol=1e-6)
    np.testing.assert_allclose(after.deviation["x"], state.deviation["x"], atol=1e-6)
    assert int(after.generation) == 1
    assert variants["x"].shape == (SIZE, 3)


def start(deviation: float = 0.5) -> EvolutionState:
    return EvolutionState({"x": jnp.zeros(3)}, {"x": jnp.full(3, deviation)}, jnp.zeros((), jnp.int32))


def test_variants_come_in_mirrored_pairs() -> None:
    state = start()._replace(mean={"x": jnp.array([1.0, 2.0, 3.0])})
    variants, noise = Evolution(population=SIZE).ask(state, jax.random.PRNGKey(0))
    half = SIZE // 2
    np.testing.assert_allclose(variants["x"][:half] + variants["x"][half:], 2 * jnp.tile(state.mean["x"], (half, 1)))
    np.testing.assert_array_equal(noise[:half], -noise[half:])
    assert np.ptp(np.asarray(variants["x"][:half]), axis=0).min() > 0


def test_it_finds_the_optimum_of_a_parabola() -> None:
    learner = Evolution(population=32)

    def generation(state: EvolutionState, key: jax.Array) -> tuple[EvolutionState, jax.Array]:
        variants, noise = learner.ask(state, key)
        state, figures = learner.tell(state, noise, -((variants["x"] - BEST) ** 2).sum(axis=1))
        return state, figures["deviation"]

    keys = jax.random.split(jax.random.PRNGKey(0), 60)
    state, deviations = jax.jit(lambda state: jax.lax.scan(generation, state, keys))(start())
    np.testing.assert_allclose(learner.tensors(state)["x"], BEST, atol=0.1)
    # Near the optimum small steps do best.
    assert float(deviations[-1]) < 0.5 * float(deviations[0])


def test_only_what_scores_depend_on_is_evolved() -> None:
    blueprint = DeepSets(width=4).build(Sizes(2, 3))
    state = Evolution().init(blueprint, jax.random.PRNGKey(0))
    assert set(state.mean) == set(tensor_names(needed(blueprint.ops)))
    assert "value.weight" not in state.mean
