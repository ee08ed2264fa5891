"""PPO: several passes over each segment, with the change of every probability kept small.

loss = - min(ratio · advantage, clip(ratio, 1 ± clip) · advantage) + value and entropy as in A2C
ratio = p(action) now / p(action) when it was chosen
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import jax.numpy as jnp

from longshore.agents import scoring
from longshore.agents.base import Figures, Learner, Seen, Segment
from longshore.agents.learners import on_policy
from longshore.agents.learners.on_policy import Loss, Minibatch, OnPolicyState
from longshore.agents.networks.base import Blueprint
from longshore.agents.ranges import AMOUNT, BUDGET, COUNT, SHARE
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Tensors
from longshore.core.words.errors import InputError


@dataclass(frozen=True)
class Ppo(Learner):
    """Proximal policy optimisation with masked actions."""

    steps: Annotated[int, BUDGET] = 400_000
    """Decisions to learn from."""
    envs: Annotated[int, BUDGET] = 32
    """Environments played at once."""
    segment: Annotated[int, COUNT] = 128
    """Steps of each environment between updates."""
    learning_rate: Annotated[float, AMOUNT] = 3e-3
    """Of Adam."""
    discount: Annotated[float, SHARE] = 0.97
    """How much the next decision's reward counts in this one's return."""
    trace_decay: Annotated[float, SHARE] = 0.95
    """Lambda of the generalised advantage: 0 trusts the value, 1 the rewards."""
    epochs: Annotated[int, COUNT] = 4
    """Passes over each segment."""
    parts: Annotated[int, COUNT] = 4
    """Parts into which each pass is cut; one step of Adam for each."""
    clip: Annotated[float, AMOUNT] = 0.2
    """How far a probability may move in one update."""
    entropy_weight: Annotated[float, AMOUNT] = 0.01
    """How much variety in the choices is worth."""
    value_weight: Annotated[float, AMOUNT] = 0.5
    """How much the value's error counts in the loss."""
    gradient_limit: Annotated[float, AMOUNT] = 0.5
    """The longest gradient that is followed."""

    def check(self) -> None:
        """Refuse parts without a step."""
        room = self.envs * self.segment
        if self.parts > room:
            raise InputError(f"got {self.parts} parts of {room} steps, expected {room} at most", "fewer `--parts`")

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
        """Go over the segment several times."""
        batch, known = on_policy.make_batch(segment, self.discount, self.trace_decay)
        optimizer = on_policy.adam(self.learning_rate, self.gradient_limit)
        state, figures = on_policy.descend_in_parts(
            optimizer, self._loss(blueprint), state, key, batch, self.epochs, self.parts
        )
        return state, {**known, **figures}

    def tensors(self, state: OnPolicyState) -> dict[str, Array]:
        """Return the policy's tensors."""
        return state.tensors

    def _loss(self, blueprint: Blueprint) -> Loss:
        def loss(tensors: Tensors, batch: Minibatch) -> tuple[Array, Figures]:
            scores, value = scoring.evaluate(blueprint, tensors, batch.seen.inputs)
            counted = batch.seen.is_decision
            log_p = scoring.log_probabilities(scores, batch.seen.feasible)
            ratio = jnp.exp(jnp.where(counted, scoring.at(log_p, batch.action) - batch.log_p, 0.0))
            cut = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
            gain = jnp.minimum(ratio * batch.advantage, cut * batch.advantage)
            policy_loss = -scoring.mean_over(gain, counted)
            value_loss = scoring.mean_over(jnp.square(value - batch.target), counted)
            entropy = scoring.mean_over(scoring.entropy(log_p, batch.seen.feasible), counted)
            total = policy_loss + self.value_weight * value_loss - self.entropy_weight * entropy
            moved = scoring.mean_over((jnp.abs(ratio - 1) > self.clip).astype(jnp.float32), counted)
            return total, {"loss": total, "value_loss": value_loss, "entropy": entropy, "clipped": moved}

        return loss
