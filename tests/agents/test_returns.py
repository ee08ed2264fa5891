"""Returns against plain loops, with steps that are no decision and episodes that end inside the segment."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.agents.returns import advantages, following
from support import jax_arrays

STEPS, ENVS, DISCOUNT, DECAY = 7, 3, 0.9, 0.8


class Experience(NamedTuple):
    """A segment; steps that are no decision earn nothing."""

    reward: np.ndarray
    value: np.ndarray
    is_decision: np.ndarray
    is_over: np.ndarray


def draw(seed: int) -> Experience:
    rng = np.random.default_rng(seed)
    is_decision = rng.random((STEPS, ENVS)) < 0.6
    reward = np.where(is_decision, rng.normal(size=(STEPS, ENVS)), 0)
    value = rng.normal(size=(STEPS, ENVS))
    is_over = rng.random((STEPS, ENVS)) < 0.25
    found = (reward, value, is_decision, is_over)
    return Experience(*(one.astype(bool if one.dtype == bool else np.float32) for one in found))


experiences = st.integers(0, 10_000).map(draw)


def slow_advantages(found: Experience, env: int) -> list[float | None]:
    """Add up the errors of this decision and of those after it, in the same episode, each discounted; None = unknown.

    The last decision of the segment, where its episode goes on, only says what those before it lead to.
    """
    decisions = [step for step in range(STEPS) if found.is_decision[step, env]]

    def ends_between(first: int, last: int) -> bool:
        return bool(found.is_over[first:last, env].any())

    advantage: list[float | None] = [None] * STEPS
    for place, step in enumerate(decisions):
        total, factor = 0.0, 1.0
        for number in range(place, len(decisions)):
            here = decisions[number]
            after = decisions[number + 1] if number + 1 < len(decisions) else STEPS
            is_end = ends_between(here, after)
            if ends_between(step, here) or (after == STEPS and not is_end):
                break
            next_value = 0.0 if is_end else float(found.value[after, env])
            total += factor * (found.reward[here, env] + DISCOUNT * next_value - found.value[here, env])
            factor *= DISCOUNT * DECAY
            advantage[step] = total
    return advantage


@given(experiences)
@settings(max_examples=40)
def test_advantages_equal_a_plain_loop(found: Experience) -> None:
    got, targets, is_known = _advantages(*jax_arrays.to_jax(found))
    want = [slow_advantages(found, env) for env in range(ENVS)]
    assert np.asarray(is_known).T.tolist() == [[one is not None for one in env] for env in want]
    numbers = np.array([[one or 0.0 for one in env] for env in want]).T
    np.testing.assert_allclose(got, numbers, atol=1e-5)
    np.testing.assert_allclose(targets, numbers + found.value, atol=1e-5)


@given(experiences)
@settings(max_examples=20)
def test_what_is_said_where_nothing_is_decided_counts_for_nothing(found: Experience) -> None:
    changed = found._replace(value=np.where(found.is_decision, found.value, np.float32(1e6)))
    for one, other in zip(_advantages(*found), _advantages(*changed), strict=True):
        np.testing.assert_array_equal(np.where(found.is_decision, one, 0), np.where(found.is_decision, other, 0))


def slow_following(found: Experience, env: int, step: int, horizon: int) -> tuple[float, float, int | None] | None:
    """Return what the next decisions earn, the discount of what follows, and where; None = not known.

    Where the segment ends before, it is what those earn that are followed by another one.
    """
    total, power, number, here = 0.0, 1.0, 0, step
    so_far: tuple[float, float, int | None] | None = None
    while number < horizon:
        total += power * found.reward[here, env]
        power, number = power * DISCOUNT, number + 1
        while True:  # on to the next decision
            if found.is_over[here, env]:
                return total, 0.0, None
            here += 1
            if here == STEPS:
                return so_far
            if found.is_decision[here, env]:
                break
        so_far = total, power, here
    return so_far


@pytest.mark.parametrize("horizon", [1, 2, 4, 9])
def test_following_equals_a_plain_loop(horizon: int) -> None:
    @given(experiences)
    @settings(max_examples=30)
    def check(found: Experience) -> None:
        total, discount, index, is_known = _following(
            *jax_arrays.to_jax((found.reward, found.is_decision, found.is_over)), horizon=horizon
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
    found, _, is_known = advantages(reward, value, is_decision, is_over, 1.0, 1.0)
    assert found[0, 0] == 1.0
    assert is_known[:, 0].tolist() == [True, False]


_advantages = jax.jit(partial(advantages, discount=DISCOUNT, trace_decay=DECAY))
_following = jax.jit(partial(following, discount=DISCOUNT), static_argnames="horizon")
