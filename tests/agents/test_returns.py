"""Returns against plain loops, with steps that are no decision and episodes that end inside the segment."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jax_support
from longshore.agents.returns import advantages, following

STEPS, ENVS, DISCOUNT, DECAY = 7, 3, 0.9, 0.8


class Experience(NamedTuple):
    """A segment; steps that are no decision earn nothing."""

    reward: np.ndarray
    value: np.ndarray
    is_decision: np.ndarray
    is_over: np.ndarray
    last_value: np.ndarray


def draw(seed: int) -> Experience:
    rng = np.random.default_rng(seed)
    is_decision = rng.random((STEPS, ENVS)) < 0.6
    reward = np.where(is_decision, rng.normal(size=(STEPS, ENVS)), 0)
    value = rng.normal(size=(STEPS, ENVS))
    is_over = rng.random((STEPS, ENVS)) < 0.25
    found = (reward, value, is_decision, is_over, rng.normal(size=ENVS))
    return Experience(*(one.astype(bool if one.dtype == bool else np.float32) for one in found))


experiences = st.integers(0, 10_000).map(draw)


def slow_advantages(found: Experience, env: int) -> list[float]:
    """Add up the errors of this decision and of those after it, in the same episode, each discounted."""
    decisions = [step for step in range(STEPS) if found.is_decision[step, env]]

    def ends_between(first: int, last: int) -> bool:
        return bool(found.is_over[first:last, env].any())

    advantage = [0.0] * STEPS
    for place, step in enumerate(decisions):
        total, factor = 0.0, 1.0
        for number in range(place, len(decisions)):
            here = decisions[number]
            if ends_between(step, here):
                break
            after = decisions[number + 1] if number + 1 < len(decisions) else STEPS
            next_value = found.value[after, env] if after < STEPS else found.last_value[env]
            next_value = 0.0 if ends_between(here, after) else float(next_value)
            total += factor * (found.reward[here, env] + DISCOUNT * next_value - found.value[here, env])
            factor *= DISCOUNT * DECAY
        advantage[step] = total
    return advantage


@given(experiences)
@settings(max_examples=40)
def test_advantages_equal_a_plain_loop(found: Experience) -> None:
    got, targets = _advantages(*jax_support.to_jax(found))
    want = np.array([slow_advantages(found, env) for env in range(ENVS)]).T
    np.testing.assert_allclose(got, want, atol=1e-5)
    np.testing.assert_allclose(targets, want + found.value, atol=1e-5)


def slow_following(found: Experience, env: int, step: int, horizon: int) -> tuple[float, float, int | None] | None:
    """Return what the next decisions earn, the discount of what follows, and where; None = not known."""
    total, power, number, here = 0.0, 1.0, 0, step
    while number < horizon:
        total += power * found.reward[here, env]
        power, number = power * DISCOUNT, number + 1
        while True:  # on to the next decision
            if found.is_over[here, env]:
                return total, 0.0, None
            here += 1
            if here == STEPS:
                return None
            if found.is_decision[here, env]:
                break
    return total, power, here


@pytest.mark.parametrize("horizon", [1, 2, 4, 9])
def test_following_equals_a_plain_loop(horizon: int) -> None:
    @given(experiences)
    @settings(max_examples=30)
    def check(found: Experience) -> None:
        total, discount, index, is_known = _following(
            *jax_support.to_jax((found.reward, found.is_decision, found.is_over)), horizon=horizon
        )
        for env in range(ENVS):
            for step in range(STEPS):
                want = slow_following(found, env, step, horizon) if found.is_decision[step, env] else None
                assert bool(is_known[step, env]) == (want is not None)
                if want is not None:
                    assert float(total[step, env]) == pytest.approx(want[0], abs=1e-5)
                    assert float(discount[step, env]) == pytest.approx(want[1], abs=1e-6)
                if want is not None and want[2] is not None:
                    assert int(index[step, env]) == want[2]

    check()


def test_an_episode_that_is_over_leads_nowhere() -> None:
    reward, value = jnp.array([[1.0], [10.0]]), jnp.zeros((2, 1))
    is_decision, is_over = jnp.ones((2, 1), bool), jnp.array([[True], [False]])
    found, _ = advantages(reward, value, is_decision, is_over, jnp.array([100.0]), 1.0, 1.0)
    assert found[:, 0].tolist() == [1.0, 110.0]


_advantages = jax.jit(partial(advantages, discount=DISCOUNT, trace_decay=DECAY))
_following = jax.jit(partial(following, discount=DISCOUNT), static_argnames="horizon")
