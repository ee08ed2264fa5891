"""A toy cluster that every learner trains on, step by step: what the simulator does is compiled once for all of them.

Two seeds are trained at once, with four environments (or variants of a population) each.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from longshore.agents import scoring
from longshore.agents.base import Learner, Seen, Segment
from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.ops import Array
from longshore.training.program.chunk import Data
from longshore.training.program.experience import Env, Task, collect, example, start
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import prepare

SEEDS, ENVS = 2, 4
FEATURES = ("node_cpu_free", "pod_cpu", "node_is_on", "latency")


@dataclass(frozen=True)
class Puppet:
    """Does what it is told: its state is the action."""

    segment: int = 1
    envs: int = SEEDS * ENVS
    steps: int = 1

    def act(self, _blueprint: Any, state: Array, _key: Array, _seen: Seen) -> tuple[Array, dict[str, Array]]:
        """Return the action."""
        return state, {}


@dataclass(frozen=True)
class ToyCluster:
    """The thesis' first test with six pods, and `el-rl` to earn."""

    task: Task
    data: Data

    @cached_property
    def begin(self) -> Any:
        """Return environments [seeds · envs] by one key for each seed."""

        def one(key: Array) -> Env:
            return start(self.task, self.data.bank, self.data.scale, key, ENVS)

        return jax.jit(lambda keys: _merged(jax.vmap(one)(keys)))

    @cached_property
    def look(self) -> Any:
        """Return what environments see."""
        return jax.jit(lambda envs: example(self.task, self.data.bank, envs))

    @cached_property
    def move(self) -> Any:
        """Do an action in each environment; return them, and a segment of one step."""
        bank, scale, nothing = self.data.bank, self.data.scale, jnp.zeros(())

        def move(envs: Env, action: Array) -> tuple[Env, Segment]:
            key = jax.random.PRNGKey(0)
            blueprint = Blueprint((), ())
            return collect(self.task, Puppet(), blueprint, bank, scale, envs, action, nothing, key)[:2]

        return jax.jit(move)

    def train(self, learner: Any, blueprint: Blueprint, seeds: tuple[int, int], updates: int = 2) -> Any:
        """Train two seeds at once; return the tensors before and after, [seeds, ...], and the last figures."""
        keys = jax.vmap(jax.random.PRNGKey)(jnp.array(seeds))
        compiled = _compiled(learner, blueprint)
        if isinstance(learner, Learner):
            return self._train_steps(learner, compiled, keys, updates)
        state = compiled["init"](keys)
        before = learner.tensors(state)
        for number in range(updates):
            variants, noise = compiled["ask"](state, _fold(keys, number))
            envs, earned = self.begin(keys), np.zeros(SEEDS * ENVS)
            for _ in range(24):
                scores = compiled["score"](variants, _split(_view(learner, self.look(envs))))
                envs, segment = self.move(envs, _merged(scores))
                earned += np.asarray(segment.reward[0])
            state, figures = compiled["tell"](state, noise, jnp.asarray(earned, jnp.float32).reshape(SEEDS, ENVS))
        return before, learner.tensors(state), figures

    def _train_steps(self, learner: Any, compiled: Any, keys: Array, updates: int) -> Any:
        envs = self.begin(keys)
        state = compiled["init"](keys, _split(_view(learner, self.look(envs))))
        before = jax.vmap(learner.tensors)(state)
        for number in range(updates):
            steps = []
            for step in range(learner.segment):
                seen = _split(_view(learner, self.look(envs)))
                action, extra = compiled["act"](state, _fold(keys, 100 * number + step), seen)
                envs, moved = self.move(envs, _merged(action))
                reward, is_over = _split((moved.reward[0], moved.is_over[0]))
                steps.append(Segment(seen, action, reward, is_over, extra))
            segment = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), *steps)
            state, figures = compiled["update"](state, _fold(keys, 100 * number + 99), segment)
        return before, jax.vmap(learner.tensors)(state), figures


@cache
def toy_cluster() -> ToyCluster:
    """Return the one that all tests share."""
    plan = Plan(
        learner="dqn",
        workload="test1",
        workload_config={"nodes": 3, "pods": 6, "cycles": 1},
        features=FEATURES,
        guide="energy-latency",
        traces=3,
        selection_traces=1,
    )
    prepared = prepare(plan)
    return ToyCluster(prepared.program.task, prepared.data)


@cache
def _compiled(learner: Any, blueprint: Blueprint) -> dict[str, Any]:
    """Compile what a learner does, for two seeds at once."""
    if isinstance(learner, Learner):
        functions = {"init": lambda key, seen: learner.init(blueprint, key, seen)}
        functions |= {
            "act": lambda state, key, seen: learner.act(blueprint, state, key, seen),
            "update": lambda state, key, segment: learner.update(blueprint, state, key, segment),
        }
    else:

        def choose(variants: Any, seen: Seen) -> Array:
            def one(tensors: Any, seen: Seen) -> Array:
                single = jax.tree.map(lambda leaf: leaf[None], seen)
                scores = scoring.evaluate(blueprint, blueprint.init(jax.random.PRNGKey(0)) | tensors, single.inputs)[0]
                return scoring.pick(scores, single.feasible)[0]

            return jax.vmap(one)(variants, seen)

        functions = {"init": lambda key: learner.init(blueprint, key), "ask": learner.ask, "score": choose}
        functions |= {"tell": learner.tell}
    return {name: jax.jit(jax.vmap(function)) for name, function in functions.items()}


def _view(learner: Any, seen: Seen) -> Seen:
    """Show a learner that asks for features of its own those alone; they stand first."""
    columns = len(learner.features or FEATURES)
    return seen._replace(inputs=seen.inputs._replace(rows=seen.inputs.rows[..., :columns]))


def _fold(keys: Array, number: int) -> Array:
    return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)


def _split(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(SEEDS, ENVS, *leaf.shape[1:]), tree)


def _merged(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(SEEDS * ENVS, *leaf.shape[2:]), tree)
