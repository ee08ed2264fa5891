"""DQN: the score of a node is the return expected of placing the pod there, learnt from a memory of decisions.

    target = rewards of the next n decisions + discount^n · Q_target(next, best feasible node there)

Nodes where the pod may not go are masked in the choice, in the target and in exploration alike. Exploration is random
or follows a guide (a heuristic, recorded decisions), which may also fill the memory at first. How far exploration has
come is part of the state: a policy that goes on learning does not begin to explore again. So is the last decision of
each environment, until the next segment says where it led: every decision is remembered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from longshore.agents import scoring
from longshore.agents.base import Figures, Learner, Seen, Segment, flattened
from longshore.agents.learners.on_policy import adam
from longshore.agents.networks.base import Blueprint
from longshore.agents.ranges import AMOUNT, BUDGET, COUNT, GUIDES_SHARE, SHARE, Range
from longshore.agents.returns import following
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import Inputs, Tensors
from longshore.core.words.errors import InputError


class Memory(NamedTuple):
    """Decisions, the oldest overwritten first: every array [memory, ...]."""

    inputs: Inputs
    feasible: Array
    action: Array
    total: Array  # discounted rewards of the next n decisions
    discount: Array  # of what follows them; 0 = nothing does
    next_inputs: Inputs
    next_feasible: Array


class Pending(NamedTuple):
    """The last decision of each environment, while it is not known where it leads: every array [envs, ...]."""

    seen: Seen  # `is_decision` where there is one
    action: Array
    reward: Array


class DqnState(NamedTuple):
    """A value function that is being learnt."""

    tensors: dict[str, Array]
    target: dict[str, Array]
    optimizer: optax.OptState
    memory: Memory
    pending: Pending
    stored: Array  # [] int32; decisions ever stored
    decided: Array  # [] int32; decisions ever made
    updates: Array  # [] int32


@dataclass(frozen=True)
class Dqn(Learner):
    """Deep Q-learning with a replay memory and a target network."""

    takes_guide: ClassVar[bool] = True
    """It follows a guide where there is one."""

    steps: Annotated[int, BUDGET] = 200_000
    """Decisions to learn from."""
    envs: Annotated[int, BUDGET] = 32
    """Environments played at once."""
    segment: Annotated[int, COUNT] = 16
    """Steps of each environment between updates."""
    learning_rate: Annotated[float, AMOUNT] = 1e-3
    """Of Adam."""
    discount: Annotated[float, SHARE] = 0.99
    """How much the next decision's reward counts in this one's return."""
    horizon: Annotated[int, COUNT] = 3
    """Decisions whose rewards are added up before the value of what follows is trusted (n-step returns)."""
    memory: Annotated[int, COUNT] = 50_000
    """Decisions that are remembered."""
    batch: Annotated[int, COUNT] = 256
    """Decisions per step of Adam."""
    gradient_steps: Annotated[int, COUNT] = 8
    """Steps of Adam after each segment."""
    learning_starts: Annotated[int, Range(0)] = 1_000
    """Decisions before the first step of Adam."""
    target_rate: Annotated[float, AMOUNT] = 0.02
    """How far the target follows the network at each step of Adam."""
    exploration: Annotated[float, SHARE] = 0.3
    """Share of all decisions during which exploration falls to its end."""
    exploration_start: Annotated[float, SHARE] = 1.0
    """Share of decisions that explore at first."""
    exploration_end: Annotated[float, SHARE] = 0.05
    """Share of decisions that explore at last."""
    guide_share: Annotated[float, GUIDES_SHARE] = 0.5
    """Share of the exploring decisions that follow the guide, where there is one."""
    prefill: Annotated[int, Range(0, is_guides=True)] = 0
    """Decisions at the start that the guide makes, where there is one."""
    double: bool = True
    """The network chooses, the target judges: less optimism."""
    duelling: bool = True
    """Value of the state and advantage of the node are learnt apart."""
    gradient_limit: Annotated[float, AMOUNT] = 10.0
    """The longest gradient that is followed."""

    def check(self) -> None:
        """Refuse a memory that a segment overflows; one decision of each environment comes from the segment before."""
        least = self.envs * (self.segment + 1)
        if self.memory < least:
            raise InputError(
                f"got a memory of {self.memory}, expected {least} or more: "
                "a segment of every environment and a decision"
            )

    def init(self, blueprint: Blueprint, key: Array, example: Seen) -> DqnState:
        """Return the state before learning, with room for decisions like the example."""
        tensors = blueprint.init(key)
        optimizer = adam(self.learning_rate, self.gradient_limit).init(tensors)
        blank = jax.tree.map(lambda leaf: jnp.zeros((self.memory, *leaf.shape[1:]), leaf.dtype), example)
        scalar = jnp.zeros(self.memory, jnp.float32)
        memory = Memory(blank.inputs, blank.feasible, blank.guide, scalar, scalar, blank.inputs, blank.feasible)
        nothing: Seen = jax.tree.map(jnp.zeros_like, example)
        pending = Pending(nothing, nothing.guide, jnp.zeros(nothing.guide.shape, jnp.float32))
        zero = jnp.zeros((), jnp.int32)
        return DqnState(tensors, dict(tensors), optimizer, memory, pending, zero, zero, zero)

    def act(self, blueprint: Blueprint, state: DqnState, key: Array, seen: Seen) -> tuple[Array, Mapping[str, Array]]:
        """Take the best node, or explore."""
        scores, _ = scoring.evaluate(blueprint, state.tensors, seen.inputs)
        best = scoring.pick(scores, seen.feasible)
        explore_key, guide_key, random_key = jax.random.split(key, 3)
        has_guide = seen.guide >= 0
        is_exploring = jax.random.uniform(explore_key, best.shape, jnp.float32) < self._exploration(state)
        is_guided = has_guide & (jax.random.uniform(guide_key, best.shape, jnp.float32) < self.guide_share)
        explored = jnp.where(is_guided, seen.guide, scoring.uniform(random_key, seen.feasible))
        is_filling = has_guide & (state.decided < self.prefill)
        return jnp.where(is_filling, seen.guide, jnp.where(is_exploring, explored, best)), {}

    def update(self, blueprint: Blueprint, state: DqnState, key: Array, segment: Segment) -> tuple[DqnState, Figures]:
        """Remember the segment, then learn from memory."""
        state = self._remember(state, segment)
        is_ready = state.stored >= jnp.minimum(self.learning_starts, self.memory)

        def learn(state: DqnState, key: Array) -> tuple[DqnState, Figures]:
            return self._descend(blueprint, state, key)

        def wait(state: DqnState, key: Array) -> tuple[DqnState, Figures]:
            return state, {"loss": jnp.zeros((), jnp.float32), "value": jnp.zeros((), jnp.float32)}

        def once(state: DqnState, key: Array) -> tuple[DqnState, Figures]:
            found: tuple[DqnState, Figures] = jax.lax.cond(is_ready, learn, wait, state, key)
            return found

        state, figures = jax.lax.scan(once, state, jax.random.split(key, self.gradient_steps))
        return state, {**jax.tree.map(jnp.mean, figures), "exploration": self._exploration(state)}

    def tensors(self, state: DqnState) -> dict[str, Array]:
        """Return the network's tensors."""
        return state.tensors

    def _exploration(self, state: DqnState) -> Array:
        share = state.decided / max(self.exploration * self.steps, 1)
        span = self.exploration_end - self.exploration_start
        return (self.exploration_start + span * jnp.clip(share, 0, 1)).astype(jnp.float32)

    def _remember(self, state: DqnState, segment: Segment) -> DqnState:
        decided = state.decided + segment.seen.is_decision.sum()
        # An environment whose episode ended gets another trace: what it was in the midst of is not gone on with.
        is_cut = segment.is_over.any(axis=0)
        segment = _after(state.pending, segment)
        seen = segment.seen
        total, discount, index, is_known = following(
            segment.reward, seen.is_decision, segment.is_over, self.discount, self.horizon
        )
        steps = jnp.minimum(index, segment.reward.shape[0] - 1)
        envs = jnp.arange(segment.reward.shape[1])
        ahead = jax.tree.map(lambda leaf: leaf[steps, envs[None, :]], seen)
        is_kept = (is_known & (segment.action >= 0)).reshape(-1)
        found = Memory(seen.inputs, seen.feasible, segment.action, total, discount, ahead.inputs, ahead.feasible)
        place = (state.stored + jnp.cumsum(is_kept) - 1) % self.memory
        # What is not kept goes to a place that does not exist, and is dropped.
        place = jnp.where(is_kept, place, self.memory)
        memory = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), state.memory, flattened(found))
        is_open = seen.is_decision & ~is_known & ~is_cut
        last = jax.tree.map(lambda leaf: leaf[is_open.argmax(axis=0), envs], (seen, segment.action, segment.reward))
        return state._replace(
            memory=memory,
            pending=Pending(last[0]._replace(is_decision=is_open.any(axis=0)), *last[1:]),
            stored=(state.stored + is_kept.sum()).astype(jnp.int32),
            decided=decided.astype(jnp.int32),
        )

    def _descend(self, blueprint: Blueprint, state: DqnState, key: Array) -> tuple[DqnState, Figures]:
        filled = jnp.maximum(jnp.minimum(state.stored, self.memory), 1)
        rows = jax.random.randint(key, (self.batch,), 0, filled)
        batch = jax.tree.map(lambda leaf: leaf[rows], state.memory)
        future = self._values(blueprint, state.target, batch.next_inputs, batch.next_feasible)
        chooser = state.tensors if self.double else state.target
        best = scoring.pick(
            self._values(blueprint, chooser, batch.next_inputs, batch.next_feasible), batch.next_feasible
        )
        # Nothing is feasible there: nothing is earned there either.
        worth = jnp.where(best >= 0, scoring.at(future, best), 0.0)
        wanted = batch.total + batch.discount * worth

        def loss(tensors: Tensors) -> tuple[Array, Array]:
            value = scoring.at(self._values(blueprint, tensors, batch.inputs, batch.feasible), batch.action)
            return optax.huber_loss(value, wanted).mean(), value.mean()

        (error, value), gradient = jax.value_and_grad(loss, has_aux=True)(state.tensors)
        optimizer = adam(self.learning_rate, self.gradient_limit)
        updates, optimizer_state = optimizer.update(gradient, state.optimizer, state.tensors)
        tensors: dict[str, Array] = optax.apply_updates(state.tensors, updates)
        target = jax.tree.map(lambda old, new: old + self.target_rate * (new - old), state.target, tensors)
        state = state._replace(tensors=tensors, target=target, optimizer=optimizer_state, updates=state.updates + 1)
        return state, {"loss": error, "value": value}

    def _values(self, blueprint: Blueprint, tensors: Tensors, inputs: Inputs, feasible: Array) -> Array:
        scores, value = scoring.evaluate(blueprint, tensors, inputs)
        if not self.duelling:
            return scores
        mean = jnp.where(feasible, scores, 0.0).sum(axis=-1) / jnp.maximum(feasible.sum(axis=-1), 1)
        return value[:, None] + scores - mean[:, None]


def _after(pending: Pending, segment: Segment) -> Segment:
    """Return the segment with the decisions before it as its first step."""
    first = Segment(pending.seen, pending.action, pending.reward, jnp.zeros(pending.action.shape, bool), {})
    joined: Segment = jax.tree.map(
        lambda one, more: jnp.concatenate([one[None].astype(more.dtype), more]), first, segment._replace(extra={})
    )
    return joined
