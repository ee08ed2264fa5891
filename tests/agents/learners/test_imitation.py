"""Imitation: becomes its guide, whatever that earns, and then better than it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from agents.toys import Trained, random_seen, share_right, train_bandit
from longshore.agents.learners.imitation import Imitation
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets
from longshore.core.arrays.ops import Array

BLUEPRINT = DeepSets(width=8).build(Sizes(2, 3))
UPDATES = 50
# Twice as many segments as decisions need: half of all steps are decisions.
LEARNER = Imitation(segment=16, envs=16, steps=UPDATES * 16 * 16 // 2, learning_rate=5e-3, epochs=4, parts=2)


def second_feature(rows: Array) -> Array:
    """What the guide goes by; the reward is the first feature."""
    return rows[..., 1]


def trained(clone_share: float) -> Trained:
    return train_bandit(replace(LEARNER, clone_share=clone_share), BLUEPRINT, guide=second_feature, updates=UPDATES)


def test_it_clones_a_guide_whatever_that_earns() -> None:
    found = trained(1.0)
    assert share_right(BLUEPRINT, found.tensors, second_feature) > 0.95
    assert share_right(BLUEPRINT, found.tensors) < 0.6


def test_it_leaves_a_guide_that_can_be_beaten() -> None:
    found = trained(0.3)
    assert share_right(BLUEPRINT, found.tensors) > 0.9
    # First by the guide, then by its own: `clipped` is the share that differs from the guide while cloning.
    cloning = found.figures["clipped"][: int(0.3 * UPDATES)]
    assert cloning[-1] < 0.2 < cloning[0]


def test_the_guide_acts_while_it_is_cloned_and_not_after() -> None:
    seen = random_seen(5)
    blueprint = DeepSets(width=4).build(Sizes(2, 4))
    feasible = np.asarray(seen.feasible)
    guide = np.where(feasible.any(axis=1), feasible.argmax(axis=1), -1)
    seen = seen._replace(guide=jnp.asarray(guide, jnp.int32))
    learner = replace(LEARNER, clone_share=0.5)
    state = learner.init(blueprint, jax.random.PRNGKey(0), seen)
    act = jax.jit(lambda state, key: learner.act(blueprint, state, key, seen)[0])
    after = state._replace(updates=jnp.int32(0.5 * UPDATES * learner.epochs * learner.parts))
    keys = jax.random.split(jax.random.PRNGKey(1), 20)
    assert all(act(state, key).tolist() == guide.tolist() for key in keys)
    assert any(act(after, key).tolist() != guide.tolist() for key in keys)


def test_without_a_guide_it_acts_by_itself() -> None:
    seen = random_seen(5)
    seen = seen._replace(guide=jnp.full_like(seen.guide, -1))
    blueprint = DeepSets(width=4).build(Sizes(2, 4))
    state = LEARNER.init(blueprint, jax.random.PRNGKey(0), seen)
    action, _ = LEARNER.act(blueprint, state, jax.random.PRNGKey(0), seen)
    assert ((action >= 0) == seen.feasible.any(axis=1)).all()
