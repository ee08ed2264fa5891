"""What A2C, PPO and imitation share: acting by probabilities, advantages on one scale, passes over all decisions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from agents.toys import drawn, make_seen, make_segment, random_seen
from longshore.agents import scoring
from longshore.agents.base import Segment
from longshore.agents.learners import on_policy
from longshore.agents.learners.actor_critic import ActorCritic
from longshore.agents.learners.on_policy import LOG_P, VALUE, OnPolicyState, descend_in_parts, make_batch
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.linear import Linear
from support.jax_arrays import to_jax

BLUEPRINT = Linear().build(Sizes(2, 4))
STEPS, ENVS = 6, 6


def random_segment(seed: int, is_decision: Any = True) -> Segment:
    draw = np.random.default_rng(seed)
    seen = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[random_seen(seed + step) for step in range(STEPS)])
    seen = seen._replace(is_decision=seen.is_decision & is_decision)
    action = scoring.uniform(jax.random.PRNGKey(seed), seen.feasible)
    reward, value = draw.normal(size=(2, STEPS, ENVS))
    log_p = np.full((STEPS, ENVS), -1.0)
    return make_segment(seen, action, reward, draw.random((STEPS, ENVS)) < 0.2, {LOG_P: log_p, VALUE: value})


def test_acting_keeps_the_probability_and_the_value_of_what_was_done() -> None:
    seen, tensors = random_seen(1), to_jax(drawn(BLUEPRINT))
    action, extra = on_policy.act(BLUEPRINT, tensors, jax.random.PRNGKey(0), seen)
    scores, value = scoring.evaluate(BLUEPRINT, tensors, seen.inputs)
    for env in range(1, ENVS):
        if action[env] >= 0:
            feasible = np.asarray(seen.feasible[env])
            weights = np.exp(np.asarray(scores[env], np.float64)) * feasible
            want = np.log(weights[action[env]] / weights.sum())
            assert float(extra[LOG_P][env]) == pytest.approx(want, abs=1e-5)
    np.testing.assert_array_equal(extra[VALUE], value)


def test_advantages_are_brought_to_one_scale_over_what_counts() -> None:
    segment = random_segment(2)
    batch, _ = make_batch(segment, 0.9, 0.8)
    advantage = np.asarray(batch.advantage)[np.asarray(batch.seen.is_decision)]
    assert advantage.mean() == pytest.approx(0.0, abs=1e-5)
    assert advantage.std() == pytest.approx(1.0, abs=1e-4)


def test_the_last_decision_is_not_learnt_from_where_its_episode_goes_on() -> None:
    is_decision = np.ones((STEPS, ENVS), bool)
    is_decision[-1] = np.arange(ENVS) % 2 == 0
    segment = random_segment(2)
    seen = segment.seen._replace(is_decision=jnp.asarray(is_decision))
    segment = segment._replace(seen=seen, is_over=jnp.zeros((STEPS, ENVS), bool).at[-1, 0].set(True))
    counted = np.asarray(make_batch(segment, 0.9, 0.8)[0].seen.is_decision).reshape(STEPS, ENVS)
    assert counted[:-2].all()
    assert counted[-2].tolist() == is_decision[-1].tolist()  # the last of those that have nothing to decide at the end
    assert counted[-1].tolist() == [True] + [False] * (ENVS - 1)


@pytest.mark.parametrize(
    ("is_decision", "is_over", "want"),
    [
        ([True, True, False], [False, False, False], 0.5 * 2.0 + 0.5 * 7.0),
        ([True, False, True], [False, False, False], 0.5 * 2.0 + 0.5 * 11.0),
        # The second ends its episode: it is worth its reward.
        ([True, True, False], [False, False, True], 0.5 * 2.0 + 0.5 * 0.5 * 9.0),
        ([True, False, False], [False, False, True], 0.5 * 2.0),
    ],
)
def test_the_last_decision_says_what_the_one_before_leads_to(
    is_decision: list[bool], is_over: list[bool], want: float
) -> None:
    seen = make_seen(np.zeros((3, 1, 4, 2)))
    seen = seen._replace(is_decision=jnp.array(is_decision)[:, None])
    extra = {LOG_P: np.zeros((3, 1)), VALUE: [[3.0], [7.0], [11.0]]}
    segment = make_segment(seen, np.zeros((3, 1)), [[2.0], [9.0], [0.0]], np.array(is_over)[:, None], extra)
    batch, _ = make_batch(segment, 0.5, 1.0)
    assert float(batch.target[0]) == pytest.approx(want)


def test_steps_that_are_no_decision_teach_nothing() -> None:
    is_decision = np.random.default_rng(0).random((STEPS, ENVS)) < 0.6
    segment = random_segment(4, is_decision)
    counted = np.asarray(segment.seen.is_decision)
    rows = segment.seen.inputs.rows
    other = jnp.where(counted[..., None, None], rows, rows + 3.0)
    changed = segment._replace(
        seen=segment.seen._replace(inputs=segment.seen.inputs._replace(rows=other)),
        action=jnp.where(counted, segment.action, 3),
        extra={
            LOG_P: jnp.where(counted, segment.extra[LOG_P], -9.0),
            VALUE: jnp.where(counted, segment.extra[VALUE], 50.0),
        },
    )
    learner = ActorCritic()
    key = jax.random.PRNGKey(0)
    start = learner.init(BLUEPRINT, key, segment.seen)
    update = jax.jit(lambda one: learner.update(BLUEPRINT, start, key, one)[0].tensors)
    found = [update(one) for one in (segment, changed)]
    for name, leaf in found[0].items():
        np.testing.assert_allclose(leaf, found[1][name], atol=1e-7, err_msg=name)


def test_every_pass_goes_over_every_decision_once() -> None:
    segment = random_segment(5)
    batch, _ = make_batch(segment, 0.9, 0.8)
    batch = batch._replace(target=jnp.arange(STEPS * ENVS, dtype=jnp.float32))

    # The gradient of this loss is the sum of the targets of a part: plain descent adds all parts up.
    def loss(tensors: Any, part: Any) -> tuple[Any, dict[str, Any]]:
        return -(tensors["x"] * part.target.sum()).sum(), {"size": jnp.float32(part.target.shape[0])}

    tensors, optimizer = {"x": jnp.zeros(1)}, optax.sgd(1.0)
    start = OnPolicyState(tensors, optimizer.init(tensors), jnp.zeros((), jnp.int32))
    state, figures = descend_in_parts(optimizer, loss, start, jax.random.PRNGKey(0), batch, 3, 4)
    assert float(state.tensors["x"][0]) == 3 * sum(range(STEPS * ENVS))
    assert float(figures["size"]) == STEPS * ENVS / 4
    assert int(state.updates) == 12


def test_a_gradient_is_not_followed_further_than_its_limit() -> None:
    optimizer = optax.chain(on_policy.adam(1.0, 0.5))
    state = optimizer.init({"x": jnp.zeros(2)})
    _, huge = optimizer.update({"x": jnp.array([3e6, 4e6])}, state)
    _, limit = optimizer.update({"x": jnp.array([0.3, 0.4])}, state)
    np.testing.assert_allclose(huge[0][1][0].mu["x"], limit[0][1][0].mu["x"], rtol=1e-5)
