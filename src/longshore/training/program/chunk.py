"""The compiled part of training: some updates and a judgement, for several seeds at once.

A chunk is what runs between two returns to Python. Everything that it changes is one tree of arrays, `TrainState`, so
that a checkpoint holds all there is and a run that goes on from it is the run that was never stopped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from longshore.agents.base import Figures, LearnerState
from longshore.agents.base import Population as PopulationLearner
from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import needed
from longshore.simulator.params import SimParams
from longshore.training.program import experience
from longshore.training.program.compiling import compiler_options, mapped, one_after_another
from longshore.training.program.experience import Bank, Env, Task
from longshore.training.program.greedy import POLICIES, POLICIES_AND_TRACES, SETTINGS, TRACES, Judged, Over, judge_all
from longshore.training.program.rewards import Scale

# How much a policy that breaks the limit is put behind one that keeps it, per unit of cost.
_BREACH = 1e6


class TrainState(NamedTuple):
    """All that training changes; every array [seeds, ...]."""

    learner: LearnerState
    envs: Env | None  # None for populations, which play whole traces
    key: Array
    decided: Array  # [] int64; decisions so far
    multiplier: Array  # [] float32; of the limit
    best: dict[str, Array]  # tensors of the policy that did best on the selection traces
    best_worth: Array  # [] float64
    best_return: Array  # [] float64


class Data(NamedTuple):
    """What training reads; shared by all seeds."""

    bank: Bank
    selection: SimParams  # [traces, ...]
    scale: Scale
    dials: Array  # [settings, terms] float64; settings of the dial that are judged; one row without a dial


@dataclass(frozen=True)
class Program:
    """What shapes the compiled program."""

    task: Task
    learner: Any
    blueprint: Blueprint
    updates: int
    """Per chunk."""

    @cached_property
    def is_population(self) -> bool:
        """Say whether the learner judges whole traces."""
        return isinstance(self.learner, PopulationLearner)

    @cached_property
    def init(self) -> Callable[[Data, Array], TrainState]:
        """Return the state before training; one key per seed."""
        return jax.jit(mapped(self._init, (None, 0)), compiler_options=compiler_options())

    @cached_property
    def chunk(self) -> Callable[[Data, TrainState], tuple[TrainState, Figures]]:
        """Train a chunk and judge it.

        Two programs, compiled side by side: as one they take longer than one after the other.
        """
        options = compiler_options()
        play = jax.jit(self._play, donate_argnums=1, compiler_options=options)
        select = jax.jit(self.select, donate_argnums=1, compiler_options=options)
        return one_after_another(play, select)

    def _init(self, data: Data, key: Array) -> TrainState:
        key, env_key, learner_key = jax.random.split(key, 3)
        envs = None
        if self.is_population:
            learner = self.learner.init(self.blueprint, learner_key)
        else:
            envs = experience.start(self.task, data.bank, data.scale, env_key, self.learner.envs)
            # So that everybody begins with a draw of the dial.
            envs = envs._replace(wants_trace=jnp.ones_like(envs.wants_trace))
            shapes = jax.eval_shape(lambda: experience.example(self.task, data.bank, envs))
            seen = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
            learner = self.learner.init(self.blueprint, learner_key, seen)
        state = TrainState(
            learner=learner,
            envs=envs,
            key=key,
            decided=jnp.zeros((), jnp.int64),
            multiplier=jnp.zeros((), jnp.float32),
            best=self.learner.tensors(learner),
            best_worth=jnp.full((), -jnp.inf),
            best_return=jnp.full((), -jnp.inf),
        )
        return _with_fixed_types(state)

    def _play(self, data: Data, state: TrainState) -> tuple[TrainState, Figures]:
        """Train a chunk, all seeds."""
        if self.is_population:
            return self._repeated(self._generation, data, state)
        found: tuple[TrainState, Figures] = mapped(partial(self._repeated, self._update), (None, 0))(data, state)
        return found

    def _repeated(
        self, update: Callable[[Data, TrainState], tuple[TrainState, Figures]], data: Data, state: TrainState
    ) -> tuple[TrainState, Figures]:
        def body(state: TrainState, _: None) -> tuple[TrainState, Figures]:
            return update(data, state)

        state, figures = jax.lax.scan(body, state, None, length=self.updates)
        return state, jax.tree.map(lambda leaf: leaf.mean(axis=0), figures)

    def _update(self, data: Data, state: TrainState) -> tuple[TrainState, Figures]:
        key, renew_key, play_key, learn_key = jax.random.split(state.key, 4)
        assert state.envs is not None
        envs = experience.renew(self.task, data.bank, data.scale, renew_key, state.envs, data.scale.weights)
        envs, segment, stepped = experience.collect(
            self.task,
            self.learner,
            self.blueprint,
            data.bank,
            data.scale,
            envs,
            state.learner,
            state.multiplier,
            play_key,
        )
        learner, figures = self.learner.update(self.blueprint, state.learner, learn_key, segment)
        is_decision = segment.seen.is_decision
        placed = jnp.maximum(stepped.is_placed.sum(), 1)
        cost = stepped.cost.sum() / placed
        num_nodes = segment.seen.feasible.shape[-1]
        chosen = (segment.action[..., None] == jnp.arange(num_nodes)) & is_decision[..., None]
        figures = {
            **figures,
            "return": envs.last_earned.mean(),
            "cpu_variance": jnp.where(is_decision, stepped.cpu_variance, 0).sum() / placed,
            "active_nodes": jnp.where(is_decision, stepped.active_nodes, 0).sum() / placed,
            "limit_cost": cost,
            "multiplier": state.multiplier,
            "actions": chosen.mean(axis=(0, 1)) / jnp.maximum(is_decision.mean(), 1e-9),
        }
        state = state._replace(
            learner=learner,
            envs=envs,
            key=key,
            decided=state.decided + is_decision.sum(),
            multiplier=self.task.limit.follow(state.multiplier, cost).astype(jnp.float32),
        )
        return state, figures

    def _generation(self, data: Data, state: TrainState) -> tuple[TrainState, Figures]:
        key, variants, drawn, traces = self.ask(data, state)
        return self.tell(data, state, key, drawn, self.try_out(data, variants, traces))

    def ask(self, data: Data, state: TrainState) -> tuple[Array, dict[str, Array], Array, Array]:
        """Return the key after it, a generation's variants, what made them, and the traces to try them on, by seed."""
        found: tuple[Array, dict[str, Array], Array, Array] = mapped(self._ask, (None, 0))(data, state)
        return found

    def _ask(self, data: Data, state: TrainState) -> tuple[Array, dict[str, Array], Array, Array]:
        key, ask_key, trace_key = jax.random.split(state.key, 3)
        variants, drawn = self.learner.ask(state.learner, ask_key)
        number = data.bank.recorded.shape[0]
        traces = jax.random.choice(trace_key, number, (min(self.learner.traces, number),), False)
        return key, variants, drawn, traces

    def try_out(self, data: Data, variants: dict[str, Array], traces: Array) -> Judged:
        """Play the traces [seeds, traces] under every variant [seeds, variants, ...]."""
        params = jax.tree.map(lambda leaf: leaf[traces], data.bank.params)
        return self._judged(data, variants, params, (POLICIES_AND_TRACES, POLICIES))

    def tell(
        self, data: Data, state: TrainState, key: Array, drawn: Array, judged: Judged
    ) -> tuple[TrainState, Figures]:
        """Let the populations of all seeds learn from how their variants did [seeds, variants, ...]."""
        found: tuple[TrainState, Figures] = mapped(self._tell, (None, 0, 0, 0, 0))(data, state, key, drawn, judged)
        return found

    def _tell(
        self, data: Data, state: TrainState, key: Array, drawn: Array, judged: Judged
    ) -> tuple[TrainState, Figures]:
        returns, worth, cost = jax.vmap(lambda one: self._worth(data, one, state.multiplier))(judged)
        learner, figures = self.learner.tell(state.learner, drawn, worth.astype(jnp.float32))
        figures = {**figures, "return": returns.mean(), "limit_cost": cost.mean(), "multiplier": state.multiplier}
        state = state._replace(
            learner=learner,
            key=key,
            decided=state.decided + judged.decided.sum(),
            multiplier=self.task.limit.follow(state.multiplier, cost.mean()).astype(jnp.float32),
        )
        return state, figures

    def _judged(self, data: Data, tensors: dict[str, Array], params: SimParams, over: Sequence[Over]) -> Judged:
        """Judge tensors for every setting of the dial: [over, settings, traces, ...]."""
        dials = data.dials.astype(jnp.float32) if self.task.has_dial else jnp.zeros((1, 0), jnp.float32)
        ops = needed(self.blueprint.ops)
        return judge_all(self.task, ops, tensors, params, dials, (*over, SETTINGS, TRACES))

    def _worth(self, data: Data, judged: Judged, multiplier: Array) -> tuple[Array, Array, Array]:
        """Return the mean return, what it is worth to the learner, and the mean cost of a placement."""
        placed = jnp.maximum(judged.placed, 1)
        given = jnp.array([weight for weight, _ in self.task.objective.terms])
        returns = (judged.terms * given).sum(axis=-1).mean()
        cost = judged.cost.sum() / placed.sum()
        # On the learner's scale, per pod; one that was never placed counts a deviation less than a worthless one.
        scaled = (judged.terms - placed[..., None] * data.scale.mean) / data.scale.deviation
        weighed = (scaled * data.dials[:, None, :]).sum(axis=-1)
        missing = jnp.maximum(judged.created - judged.placed, 0)
        worth = ((weighed - missing) / jnp.maximum(judged.created, 1)).mean() - multiplier * cost
        return returns, worth, cost

    def select(self, data: Data, state: TrainState, figures: Figures) -> tuple[TrainState, Figures]:
        """Judge every seed's policy as it is now, and keep it if none was better."""
        tensors = mapped(self.learner.tensors, (0,))(state.learner)
        judged = self._judged(data, tensors, data.selection, (POLICIES,))
        found: tuple[TrainState, Figures] = mapped(self._select, (None, 0, 0, 0, 0))(
            data, state, figures, tensors, judged
        )
        return found

    def _select(
        self, data: Data, state: TrainState, figures: Figures, tensors: dict[str, Array], judged: Judged
    ) -> tuple[TrainState, Figures]:
        returns, worth, cost = self._worth(data, judged, jnp.zeros(()))
        breach = self.task.limit.breach(judged.cost.sum(axis=0), judged.placed.sum(axis=0))
        worth = worth - _BREACH * breach
        # A policy that has diverged scores no node, which can look good by chance; it is never kept.
        is_finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tensors)]).all()
        is_better = (worth > state.best_worth) & is_finite
        state = state._replace(
            best=jax.tree.map(lambda new, old: jnp.where(is_better, new, old), tensors, state.best),
            best_worth=jnp.where(is_better, worth, state.best_worth),
            best_return=jnp.where(is_better, returns, state.best_return),
        )
        found = {
            "selection_return": returns,
            "selection_worth": worth,
            "selection_cost": cost,
            "selection_best": state.best_return,
        }
        return _with_fixed_types(state), {**figures, **found, "decided": state.decided}


def _with_fixed_types(state: TrainState) -> TrainState:
    """Forget which numbers were Python's own: JAX would compile once for those and once more for the others."""
    fixed: TrainState = jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype), state)
    return fixed
