"""A2C: learns which node earns most, and what that is worth."""

import numpy as np

from agents.toys import share_right, train_bandit
from longshore.agents.learners.actor_critic import ActorCritic
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.deepsets import DeepSets

BLUEPRINT = DeepSets(width=8).build(Sizes(2, 3))


def test_it_learns_where_the_reward_is() -> None:
    found = train_bandit(ActorCritic(segment=16, envs=16), BLUEPRINT, updates=400)
    assert share_right(BLUEPRINT, found.tensors) > 0.95
    # Three draws from 0 to 1: the largest is 3/4 on average, and any is 1/2. The value is a mean over what is to come.
    share = (1 - ActorCritic().discount) * 0.75
    np.testing.assert_allclose(found.figures["value"][-200:].mean(), share, rtol=0.1)
    assert found.figures["entropy"][-1] < 0.7 * found.figures["entropy"][0]


def test_variety_is_kept_where_it_is_worth_most() -> None:
    learner = ActorCritic(segment=16, envs=16, learning_rate=1e-2, entropy_weight=10.0)
    found = train_bandit(learner, BLUEPRINT, updates=60)
    assert found.figures["entropy"][-1] > 0.98 * np.log(3)


def test_it_takes_one_step_for_each_segment() -> None:
    assert int(train_bandit(ActorCritic(segment=4, envs=2), BLUEPRINT, updates=7).state.updates) == 7
