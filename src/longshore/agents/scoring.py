"""From a network's scores to choices and probabilities; what may not be chosen is masked in every one of them."""

import jax
import jax.numpy as jnp
import numpy as np

from longshore.agents.networks.base import VALUE, Blueprint
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import SCORE, Inputs, Tensors, forward

# Far below every score, and finite: the gradient of -inf is not a number.
MASKED = -1e9
_LEAST = float(np.finfo(np.float32).min)


def evaluate(blueprint: Blueprint, tensors: Tensors, inputs: Inputs) -> tuple[Array, Array]:
    """Return scores [envs, nodes] and the value of the state [envs]."""

    def one(single: Inputs) -> tuple[Array, Array]:
        values = forward(blueprint.ops, tensors, single)
        return values[SCORE], values[VALUE][0]

    return jax.vmap(one)(inputs)


def masked(scores: Array, feasible: Array) -> Array:
    """Return the scores with those of nodes that may not be chosen far below all others."""
    return jnp.where(feasible, scores, MASKED)


def sample(key: Array, scores: Array, feasible: Array) -> Array:
    """Draw a feasible node by the softmax of the scores [envs]; -1 where none is feasible."""
    noise = jax.random.gumbel(key, scores.shape, jnp.float32)
    return pick(scores + noise, feasible)


def uniform(key: Array, feasible: Array) -> Array:
    """Draw a feasible node, all alike [envs]; -1 where none is feasible."""
    return pick(jax.random.uniform(key, feasible.shape, jnp.float32), feasible)


def pick(scores: Array, feasible: Array) -> Array:
    """Return the best feasible node [envs]; -1 where none is feasible."""
    # Below everything, also below what a network says that has gone astray: no choice is ever one that may not be.
    worth = jnp.where(feasible, jnp.nan_to_num(scores, nan=_LEAST), -jnp.inf)
    node = jnp.argmax(worth, axis=-1).astype(jnp.int32)
    return jnp.where(feasible.any(axis=-1), node, -1)


def log_probabilities(scores: Array, feasible: Array) -> Array:
    """Return the log-softmax over feasible nodes [envs, nodes]."""
    return jax.nn.log_softmax(masked(scores, feasible), axis=-1)


def entropy(log_p: Array, feasible: Array) -> Array:
    """Return the entropy of each choice [envs]."""
    return -jnp.where(feasible, jnp.exp(log_p) * log_p, 0.0).sum(axis=-1)


def at(table: Array, action: Array) -> Array:
    """Return the entry of the chosen node [envs]; whatever stands first where none was."""
    return jnp.take_along_axis(table, jnp.maximum(action, 0)[..., None], axis=-1)[..., 0]


def mean_over(values: Array, counted: Array) -> Array:
    """Return the mean of the values that count, 0 where none does."""
    return jnp.where(counted, values, 0.0).sum() / jnp.maximum(counted.sum(), 1)
