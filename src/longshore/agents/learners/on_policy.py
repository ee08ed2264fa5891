"""What the learners that follow their own policy share: acting, advantages, and the parts of their loss."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from longshore.agents import scoring
from longshore.agents.base import Figures, Seen, Segment, flattened
from longshore.agents.networks.base import Blueprint
from longshore.agents.returns import advantages
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Tensors

LOG_P, VALUE = "log_p", "value"


class OnPolicyState(NamedTuple):
    """A policy that is being learnt."""

    tensors: dict[str, Array]
    optimizer: optax.OptState
    updates: Array  # [] int32


class Minibatch(NamedTuple):
    """Decisions to learn from: every array [decisions, ...]."""

    seen: Seen
    action: Array
    advantage: Array
    target: Array
    log_p: Array


# What a reward counts at least in the mean over what is to come, where nothing is discounted.
_LEAST_SHARE = 1e-3

Loss = Callable[[Tensors, Minibatch], tuple[Array, Figures]]


def adam(learning_rate: float, gradient_limit: float) -> optax.GradientTransformation:
    """Return the optimiser that all learners use: Adam behind a limit on the gradient's length."""
    return optax.chain(optax.clip_by_global_norm(gradient_limit), optax.adam(learning_rate, eps=1e-5))


def init(blueprint: Blueprint, key: Array, optimizer: optax.GradientTransformation) -> OnPolicyState:
    """Return the state before learning."""
    tensors = blueprint.init(key)
    return OnPolicyState(tensors, optimizer.init(tensors), jnp.zeros((), jnp.int32))


def act(blueprint: Blueprint, tensors: Tensors, key: Array, seen: Seen) -> tuple[Array, Mapping[str, Array]]:
    """Draw nodes by the policy; keep their probability and the state's value."""
    scores, value = scoring.evaluate(blueprint, tensors, seen.inputs)
    action = scoring.sample(key, scores, seen.feasible)
    log_p = scoring.at(scoring.log_probabilities(scores, seen.feasible), action)
    return action, {LOG_P: log_p, VALUE: value}


def make_batch(segment: Segment, discount: float, trace_decay: float) -> tuple[Minibatch, Figures]:
    """Work out the advantages and lay all decisions side by side.

    The last decision of an environment says what the one before it leads to, and is not learnt from itself unless its
    episode ends: to see what it leads to would mean to look further.
    """
    value = segment.extra[VALUE]
    # A mean over what is to come and not its sum: then values are as large as rewards, whatever the discount.
    reward = max(1 - discount, _LEAST_SHARE) * segment.reward
    advantage, target, counted = advantages(
        reward, value, segment.seen.is_decision, segment.is_over, discount, trace_decay
    )
    mean = scoring.mean_over(advantage, counted)
    deviation = jnp.sqrt(scoring.mean_over((advantage - mean) ** 2, counted))
    scaled = (advantage - mean) / (deviation + 1e-8)
    batch = Minibatch(segment.seen._replace(is_decision=counted), segment.action, scaled, target, segment.extra[LOG_P])
    unexplained = scoring.mean_over((target - value) ** 2, counted)
    spread = scoring.mean_over((target - scoring.mean_over(target, counted)) ** 2, counted)
    known = {"value": scoring.mean_over(value, counted), "value_unexplained": unexplained / (spread + 1e-8)}
    return flattened(batch), known


def descend(
    optimizer: optax.GradientTransformation, loss: Loss, state: OnPolicyState, batch: Minibatch
) -> tuple[OnPolicyState, Figures]:
    """Take one step down the loss."""
    gradient, figures = jax.grad(loss, has_aux=True)(state.tensors, batch)
    updates, optimizer_state = optimizer.update(gradient, state.optimizer, state.tensors)
    tensors: dict[str, Array] = optax.apply_updates(state.tensors, updates)
    return OnPolicyState(tensors, optimizer_state, state.updates + 1), figures


def descend_in_parts(
    optimizer: optax.GradientTransformation,
    loss: Loss,
    state: OnPolicyState,
    key: Array,
    batch: Minibatch,
    epochs: int,
    parts: int,
) -> tuple[OnPolicyState, Figures]:
    """Go through the batch `epochs` times, each time shuffled and in `parts` parts; return the mean figures."""
    size = batch.action.shape[0]

    def epoch(state: OnPolicyState, key: Array) -> tuple[OnPolicyState, Figures]:
        order = jax.random.permutation(key, size)[: size // parts * parts].reshape(parts, -1)

        def part(state: OnPolicyState, rows: Array) -> tuple[OnPolicyState, Figures]:
            return descend(optimizer, loss, state, jax.tree.map(lambda leaf: leaf[rows], batch))

        return jax.lax.scan(part, state, order)

    state, figures = jax.lax.scan(epoch, state, jax.random.split(key, epochs))
    return state, jax.tree.map(jnp.mean, figures)
