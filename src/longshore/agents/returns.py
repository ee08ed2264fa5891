"""From rewards to what a decision was worth. Steps that are no decision are passed over as if they were not there."""

import jax
import jax.numpy as jnp

from longshore.core.arrays.ops import Array


def advantages(
    reward: Array, value: Array, is_decision: Array, is_over: Array, discount: float, trace_decay: float
) -> tuple[Array, Array, Array]:
    """Return generalised advantages, the returns that values should have, and which of them are known: [steps, envs].

    A value is learnt where there is something to decide, and means nothing elsewhere. So an episode that goes on beyond
    the segment is worth what its last decision here is said to be worth, whatever comes after that one; what it leads
    to itself is not known yet. An episode that ended is worth nothing more.
    """

    def back(carry: tuple[Array, ...], step: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, Array]]:
        next_value, next_advantage, is_known = carry
        reward, value, is_decision, is_over = step
        next_value, next_advantage = jnp.where(is_over, 0.0, next_value), jnp.where(is_over, 0.0, next_advantage)
        is_known = is_known | is_over
        advantage = reward + discount * next_value - value + discount * trace_decay * next_advantage
        advantage = jnp.where(is_known, advantage, 0.0)
        is_counted = is_decision & is_known
        carry = (
            jnp.where(is_decision, value, next_value),
            jnp.where(is_decision, advantage, next_advantage),
            is_known | is_decision,
        )
        return carry, (jnp.where(is_counted, advantage, 0.0), is_counted)

    nothing = jnp.zeros_like(value[0])
    start = nothing, nothing, jnp.zeros(nothing.shape, bool)
    _, (found, is_known) = jax.lax.scan(back, start, (reward, value, is_decision, is_over), reverse=True)
    return found, found + value, is_known


def following(
    reward: Array, is_decision: Array, is_over: Array, discount: float, horizon: int
) -> tuple[Array, Array, Array, Array]:
    """Return, for every step, what its next `horizon` decisions earn and where they lead; all [steps, envs].

    Near the end of the segment there are fewer: then those are added up that are followed by another one.

    Returns:
        total: the discounted rewards of this decision and of up to `horizon` - 1 after it.
        discount: by which the value of the decision that follows them counts; 0 where the episode ends before.
        index: of that decision's step; `steps` = beyond the segment.
        is_known: the segment says where it leads.
    """
    steps, envs = reward.shape
    beyond = jnp.full(envs, steps, jnp.int32)

    def back(carry: tuple[Array, ...], step: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        rewards, indices, ends = carry  # of the next `horizon` decisions [horizon, envs]
        reward, is_decision, is_over, number = step
        # What lies beyond the end of an episode is not there: no reward, and nothing to follow.
        rewards, ends = jnp.where(is_over, 0.0, rewards), ends | is_over
        powers = discount ** jnp.arange(1, horizon + 1, dtype=jnp.float32)
        is_end = ends[horizon - 1]
        known = (indices < steps).sum(axis=0)
        last = jnp.maximum(known - 1, 0)  # of the decisions ahead, the one whose value is to stand for the rest
        is_before = (jnp.arange(horizon)[:, None] < last) | is_end
        total = reward + jnp.where(is_before, rewards * powers[:, None], 0.0).sum(axis=0)
        index = indices[last, jnp.arange(envs)]
        shifted = (
            jnp.where(is_decision, jnp.concatenate([reward[None], rewards[:-1]]), rewards),
            jnp.where(is_decision, jnp.concatenate([jnp.full((1, envs), number), indices[:-1]]), indices),
            jnp.where(is_decision, jnp.concatenate([jnp.zeros((1, envs), bool), ends[:-1]]), ends),
        )
        is_known = is_decision & (is_end | (index < steps))
        return shifted, (total, jnp.where(is_end, 0.0, powers[last]), index, is_known)

    start = (
        jnp.zeros((horizon, envs), jnp.float32),
        jnp.broadcast_to(beyond, (horizon, envs)),
        jnp.zeros((horizon, envs), bool),
    )
    numbers = jnp.arange(steps, dtype=jnp.int32)
    _, found = jax.lax.scan(back, start, (reward, is_decision, is_over, numbers), reverse=True)
    return found[0], found[1], found[2], found[3]
