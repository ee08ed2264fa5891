"""Actor-critic (A2C): one step along the policy gradient after every segment, with a learned value as the baseline.

loss = - advantage · log p(action) + value_weight · (return - value)² - entropy_weight · entropy
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import jax.numpy as jnp

from longshore.agents import scoring
from longshore.agents.base import Figures, Learner, Seen, Segment
from longshore.agents.learners import on_policy
from longshore.agents.learners.on_policy import Minibatch, OnPolicyState
from longshore.agents.networks.base import Blueprint
from longshore.agents.ranges import AMOUNT, BUDGET, COUNT, SHARE
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Tensors


@dataclass(frozen=True)
class ActorCritic(Learner):
    """Advantage actor-critic."""

    steps: Annotated[int, BUDGET] = 400_000
    """Decisions to learn from."""
    envs: Annotated[int, BUDGET] = 32
    """Environments played at once."""
    segment: Annotated[int, COUNT] = 32
    """Steps of each environment between updates."""
    learning_rate: Annotated[float, AMOUNT] = 3e-3
    """Of Adam."""
    discount: Annotated[float, SHARE] = 0.97
    """How much the next decision's reward counts in this one's return."""
    trace_decay: Annotated[float, SHARE] = 0.95
    """Lambda of the generalised advantage: 0 trusts the value, 1 the rewards."""
    entropy_weight: Annotated[float, AMOUNT] = 0.01
    """How much variety in the choices is worth."""
    value_weight: Annotated[float, AMOUNT] = 0.5
    """How much the value's error counts in the loss."""
    gradient_limit: Annotated[float, AMOUNT] = 0.5
    """The longest gradient that is followed."""

    def init(self, blueprint: Blueprint, key: Array, example: Seen) -> OnPolicyState:
        """Return the state before learning."""
        return on_policy.init(blueprint, key, on_policy.adam(self.learning_rate, self.gradient_limit))

    def act(
        self, blueprint: Blueprint, state: OnPolicyState, key: Array, seen: Seen
    ) -> tuple[Array, Mapping[str, Array]]:
        """Draw nodes by the policy."""
        return on_policy.act(blueprint, state.tensors, key, seen)

    def update(
        self, blueprint: Blueprint, state: OnPolicyState, key: Array, segment: Segment
    ) -> tuple[OnPolicyState, Figures]:
        """Take one step."""
        batch, known = on_policy.make_batch(segment, self.discount, self.trace_decay)

        def loss(tensors: Tensors, batch: Minibatch) -> tuple[Array, Figures]:
            scores, value = scoring.evaluate(blueprint, tensors, batch.seen.inputs)
            counted = batch.seen.is_decision
            log_p = scoring.log_probabilities(scores, batch.seen.feasible)
            policy_loss = -scoring.mean_over(scoring.at(log_p, batch.action) * batch.advantage, counted)
            value_loss = scoring.mean_over(jnp.square(value - batch.target), counted)
            entropy = scoring.mean_over(scoring.entropy(log_p, batch.seen.feasible), counted)
            total = policy_loss + self.value_weight * value_loss - self.entropy_weight * entropy
            return total, {"loss": total, "value_loss": value_loss, "entropy": entropy}

        optimizer = on_policy.adam(self.learning_rate, self.gradient_limit)
        state, figures = on_policy.descend(optimizer, loss, state, batch)
        return state, {**known, **figures}

    def tensors(self, state: OnPolicyState) -> dict[str, Array]:
        """Return the policy's tensors."""
        return state.tensors
