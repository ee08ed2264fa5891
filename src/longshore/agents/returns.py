"""From rewards to what a decision was worth. Steps that are no decision are passed over as if they were not there."""

import jax
import jax.numpy as jnp

from longshore.core.ops import Array


def advantages(
    reward: Array,
    value: Array,
    is_decision: Array,
    is_over: Array,
    last_value: Array,
    discount: float,
    trace_decay: float,
) -> tuple[Array, Array]:
    """Return generalised advantages and the returns that values should have, both [steps, envs].

    An episode that ended is worth nothing more; one that goes on is worth `last_value` [envs].
    """

    def back(carry: tuple[Array, Array], step: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        next_value, next_advantage = carry
        reward, value, is_decision, is_over = step
        next_value, next_advantage = jnp.where(is_over, 0.0, next_value), jnp.where(is_over, 0.0, next_advantage)
        advantage = reward + discount * next_value - value + discount * trace_decay * next_advantage
        carry = jnp.where(is_decision, value, next_value), jnp.where(is_decision, advantage, next_advantage)
        return carry, jnp.where(is_decision, advantage, 0.0)

    start = last_value, jnp.zeros_like(last_value)
    _, found = jax.lax.scan(back, start, (reward, value, is_decision, is_over), reverse=True)
    return found, found + value


def following(
    reward: Array, is_decision: Array, is_over: Array, discount: float, horizon: int
) -> tuple[Array, Array, Array, Array]:
    """Return, for every step, what its next `horizon` decisions earn and where they lead; all [steps, envs].

    Returns:
        total: the discounted rewards of this decision and the `horizon` - 1 after it.
        discount: by which the value of the step that follows them counts; 0 where the episode ends before.
        index: of that step; `steps` = beyond the segment.
        is_known: the segment is long enough to say.
    """
    steps, envs = reward.shape
    beyond = jnp.full(envs, steps, jnp.int32)

    def back(carry: tuple[Array, ...], step: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        rewards, indices, ends = carry  # of the next `horizon` decisions [horizon, envs]
        reward, is_decision, is_over, number = step
        # What lies beyond the end of an episode is not there: no reward, and nothing to follow.
        rewards, ends = jnp.where(is_over, 0.0, rewards), ends | is_over
        powers = discount ** jnp.arange(1, horizon + 1, dtype=jnp.float32)
        ahead = (rewards[: horizon - 1] * powers[: horizon - 1, None]).sum(axis=0)
        total = reward + ahead
        index, is_end = indices[horizon - 1], ends[horizon - 1]
        shifted = (
            jnp.where(is_decision, jnp.concatenate([reward[None], rewards[:-1]]), rewards),
            jnp.where(is_decision, jnp.concatenate([jnp.full((1, envs), number), indices[:-1]]), indices),
            jnp.where(is_decision, jnp.concatenate([jnp.zeros((1, envs), bool), ends[:-1]]), ends),
        )
        is_known = is_decision & (is_end | (index < steps))
        return shifted, (total, jnp.where(is_end, 0.0, powers[-1]), index, is_known)

    start = (
        jnp.zeros((horizon, envs), jnp.float32),
        jnp.broadcast_to(beyond, (horizon, envs)),
        jnp.zeros((horizon, envs), bool),
    )
    numbers = jnp.arange(steps, dtype=jnp.int32)
    _, found = jax.lax.scan(back, start, (reward, is_decision, is_over, numbers), reverse=True)
    return found[0], found[1], found[2], found[3]
