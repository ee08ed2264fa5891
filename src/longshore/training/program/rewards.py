"""Rewards as learners see them: each term of the objective brought to deviation 1, then weighed.

Objectives have their own scales (watts: thousands; variance: ten-thousandths), learners want one. The moments are taken
once, before training, from random placements: training does not depend on what it meets. A term that is negative on
average (watts) is also brought to mean 0: otherwise a pod that is not placed at all would be the best of all.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.ops import Array
from longshore.objectives.base import Transition
from longshore.objectives.weighted import Weighted


class Scale(NamedTuple):
    """How the terms of an objective are brought to one scale."""

    mean: Array  # [terms] float64; what is taken off, 0 for terms that are positive on average
    deviation: Array  # [terms] float64
    weights: Array  # [terms] float64; of the scaled terms, so that their sum is the objective brought to deviation 1


def make_scale(objective: Weighted, rewards: Array) -> Scale:
    """Work out the scale from rewards of random placements [decisions, terms]."""
    mean, deviation = np.minimum(rewards.mean(axis=0), 0.0), _deviation(rewards)
    given = np.array([weight for weight, _ in objective.terms])
    total = _deviation((rewards * given).sum(axis=1, keepdims=True))[0]
    return Scale(mean, deviation, given * deviation / total)


def term_rewards(objective: Weighted, step: Transition) -> Array:
    """Return the reward of each term, not weighed [terms] float64."""
    return jnp.stack([jnp.asarray(term.reward(step), jnp.float64) for _, term in objective.terms])


def scaled(scale: Scale, rewards: Array, weights: Array) -> Array:
    """Return what a learner is told, float32: rewards [..., terms], weights of the scaled terms [..., terms]."""
    return (((rewards - scale.mean) / scale.deviation) * weights).sum(axis=-1).astype(jnp.float32)


def _deviation(rewards: Array) -> Array:
    found = rewards.std(axis=0)
    # A term that is always the same teaches nothing, whatever it is divided by.
    return np.where(found > 1e-12, found, 1.0)
