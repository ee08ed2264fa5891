"""Imitation: clone a guide (a heuristic, the optimum, recorded decisions), then improve on it by PPO.

While it clones, the guide places the pods, the loss is minus the log-probability of the guide's choice, and the value
learns what the guide earns. After that it is PPO, which begins where the guide stands and not at random.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp

from longshore.agents import scoring
from longshore.agents.base import Figures, Seen, Segment
from longshore.agents.learners import on_policy
from longshore.agents.learners.on_policy import Loss, Minibatch, OnPolicyState
from longshore.agents.learners.ppo import Ppo
from longshore.agents.networks.base import Blueprint
from longshore.agents.ranges import AMOUNT, GUIDES_SHARE
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Tensors


@dataclass(frozen=True)
class Imitation(Ppo):
    """Behaviour cloning, then PPO."""

    takes_guide: ClassVar[bool] = True
    """It follows a guide where there is one."""
    needs_guide: ClassVar[bool] = True
    """Without one there is nothing to clone."""

    clone_share: Annotated[float, GUIDES_SHARE] = 0.3
    """Share of the updates that clone; 1 = never improve on the guide."""
    entropy_weight: Annotated[float, AMOUNT] = 0.003
    """How much variety in the choices is worth; little, since the guide is to be kept at first."""

    def act(
        self, blueprint: Blueprint, state: OnPolicyState, key: Array, seen: Seen
    ) -> tuple[Array, Mapping[str, Array]]:
        """Follow the guide while cloning, the policy afterwards."""
        own, extra = super().act(blueprint, state, key, seen)
        has_guide = seen.guide >= 0
        return jnp.where(self._is_cloning(state) & has_guide, seen.guide, own), extra

    def update(
        self, blueprint: Blueprint, state: OnPolicyState, key: Array, segment: Segment
    ) -> tuple[OnPolicyState, Figures]:
        """Clone or improve."""
        batch, known = on_policy.make_batch(segment, self.discount, self.trace_decay)
        optimizer = on_policy.adam(self.learning_rate, self.gradient_limit)

        def learn(loss: Loss) -> tuple[OnPolicyState, Figures]:
            return on_policy.descend_in_parts(optimizer, loss, state, key, batch, self.epochs, self.parts)

        state, figures = jax.lax.cond(
            self._is_cloning(state), lambda: learn(self._cloning_loss(blueprint)), lambda: learn(self._loss(blueprint))
        )
        return state, {**known, **figures}

    def _is_cloning(self, state: OnPolicyState) -> Array:
        # Half of all steps are decisions, as every pod comes and goes; so twice as many segments as decisions need.
        segments = 2 * self.steps / (self.envs * self.segment)
        return state.updates < self.clone_share * segments * self.epochs * self.parts

    def _cloning_loss(self, blueprint: Blueprint) -> Loss:
        def loss(tensors: Tensors, batch: Minibatch) -> tuple[Array, Figures]:
            scores, value = scoring.evaluate(blueprint, tensors, batch.seen.inputs)
            counted = batch.seen.is_decision & (batch.seen.guide >= 0)
            log_p = scoring.log_probabilities(scores, batch.seen.feasible)
            surprise = -scoring.mean_over(scoring.at(log_p, batch.seen.guide), counted)
            value_loss = scoring.mean_over(jnp.square(value - batch.target), batch.seen.is_decision)
            entropy = scoring.mean_over(scoring.entropy(log_p, batch.seen.feasible), batch.seen.is_decision)
            total = surprise + self.value_weight * value_loss
            differs = scoring.pick(scores, batch.seen.feasible) != batch.seen.guide
            figures = {"loss": total, "value_loss": value_loss, "entropy": entropy}
            return total, {**figures, "clipped": scoring.mean_over(differs.astype(jnp.float32), counted)}

        return loss
