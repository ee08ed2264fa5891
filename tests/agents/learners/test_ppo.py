"""PPO: no push beyond the clip, and it learns which node earns most."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.toys import drawn, make_seen, share_right, train_bandit
from longshore.agents import scoring
from longshore.agents.learners.on_policy import Minibatch
from longshore.agents.learners.ppo import Ppo
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.agents.networks.linear import Linear
from support.jax_arrays import to_jax

LINEAR = Linear().build(Sizes(2, 3))


def gradient(ratio: float, advantage: float, clip: float = 0.2) -> tuple[dict[str, Any], Any]:
    """Return the gradient and the figures of one decision whose probability has moved by `ratio`."""
    learner = Ppo(clip=clip, value_weight=0.0, entropy_weight=0.0)
    tensors, seen = to_jax(drawn(LINEAR)), make_seen(np.random.default_rng(0).random((1, 3, 2)))
    action = jnp.array([1], jnp.int32)
    now = scoring.at(
        scoring.log_probabilities(scoring.evaluate(LINEAR, tensors, seen.inputs)[0], seen.feasible), action
    )
    batch = Minibatch(seen, action, jnp.array([advantage]), jnp.zeros(1), now - np.log(ratio).astype(np.float32))
    return _gradient(learner, tensors, batch)


@partial(jax.jit, static_argnums=0)
def _gradient(learner: Ppo, tensors: Any, batch: Minibatch) -> Any:
    return jax.grad(learner._loss(LINEAR), has_aux=True)(tensors, batch)


@pytest.mark.parametrize(
    ("ratio", "advantage", "moves"),
    [
        (1.3, 1.0, False),
        (0.7, -1.0, False),
        (1.3, -1.0, True),  # back to where it was
        (0.7, 1.0, True),
        (1.1, 1.0, True),
        (0.9, -1.0, True),
    ],
)
def test_nothing_pushes_a_probability_beyond_the_clip(ratio: float, advantage: float, moves: bool) -> None:
    found, figures = gradient(ratio, advantage)
    length = float(jnp.abs(found["score.weight"]).sum())
    assert (length > 1e-3) if moves else (length == 0.0)
    assert float(figures["clipped"]) == float(abs(ratio - 1) > 0.2)


def test_the_first_push_is_the_policy_gradient() -> None:
    tensors, seen = to_jax(drawn(LINEAR)), make_seen(np.random.default_rng(0).random((1, 3, 2)))

    def log_p(tensors: Any) -> Any:
        scores, _ = scoring.evaluate(LINEAR, tensors, seen.inputs)
        return scoring.log_probabilities(scores, seen.feasible)[0, 1]

    want = jax.grad(log_p)(tensors)
    found, _ = gradient(1.0, 2.0)
    np.testing.assert_allclose(found["score.weight"], -2.0 * want["score.weight"], atol=1e-5)


def test_what_is_infeasible_has_no_gradient() -> None:
    learner = Ppo()
    seen = make_seen(np.random.default_rng(0).random((1, 3, 2)), np.array([[True, True, False]]))
    tensors = to_jax(drawn(LINEAR))

    def loss(rows: Any) -> Any:
        told = seen._replace(inputs=seen.inputs._replace(rows=rows))
        batch = Minibatch(told, jnp.array([0]), jnp.ones(1), jnp.zeros(1), jnp.zeros(1))
        return learner._loss(LINEAR)({**tensors, "value.weight": jnp.zeros((2, 1))}, batch)[0]

    found = np.asarray(jax.grad(loss)(seen.inputs.rows))[0]
    assert (found[2] == 0).all()
    assert (found[:2] != 0).all()


def test_it_learns_where_the_reward_is() -> None:
    blueprint = DeepSets(width=8).build(Sizes(2, 3))
    found = train_bandit(Ppo(segment=16, envs=16), blueprint, updates=40)
    assert share_right(blueprint, found.tensors) > 0.95
    assert int(found.state.updates) == 40 * Ppo().epochs * Ppo().parts
