"""DQN as a single-file library would write it: one environment, one step at a time, a replay memory in NumPy.

The yardstick of `longshore bench training`. It is an ordinary, fair loop: the network and its update are compiled,
masks are kept, rewards are on the learner's scale, and it is told the same features as ours. It differs from ours in
what such loops differ in: it returns to Python for every step, and the environment is behind Gymnasium's face.

    python benchmarks/cleanrl_style_dqn.py --target 117.4 --limit-seconds 600

It prints one JSON object. The clock stops while the policy is judged, which is not part of such a loop.
"""

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

import gymnasium  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

import longshore.simulator.gym  # noqa: E402, F401 - registers the environment
from longshore.agents.networks.base import Blueprint  # noqa: E402
from longshore.core.network.forward import SCORE, Inputs, forward, needed  # noqa: E402
from longshore.training.program.greedy import judge_all  # noqa: E402
from longshore.training.run.plan import TRAINING_SEED, Plan  # noqa: E402
from longshore.training.run.prepare import Prepared, prepare  # noqa: E402
from longshore_lab.speed.training import NETWORKS  # noqa: E402

TRAIN_EVERY = 10
"""Decisions between two steps of Adam."""
TARGET_EVERY = 500
"""Decisions between two copies of the network to the target."""
MASKED = -1e9


@dataclass
class Replay:
    """Decisions in a ring."""

    size: int
    nodes: int
    features: int
    stored: int = 0

    def __post_init__(self) -> None:
        shape = (self.size, self.nodes, self.features)
        self.rows, self.next_rows = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.next_mask = np.zeros((self.size, self.nodes), bool)
        self.action, self.reward = np.zeros(self.size, np.int32), np.zeros(self.size, np.float32)
        self.is_over = np.zeros(self.size, np.float32)

    def add(self, rows: Any, action: int, reward: float, next_rows: Any, next_mask: Any, is_over: bool) -> None:
        """Keep a decision in place of the oldest."""
        at = self.stored % self.size
        self.rows[at], self.next_rows[at], self.next_mask[at] = rows, next_rows, next_mask
        self.action[at], self.reward[at], self.is_over[at] = action, reward, is_over
        self.stored += 1

    def sample(self, random: np.random.Generator, number: int) -> tuple[Any, ...]:
        """Draw decisions."""
        at = random.integers(min(self.stored, self.size), size=number)
        columns = (self.rows, self.action, self.reward, self.next_rows, self.next_mask, self.is_over)
        return tuple(column[at] for column in columns)


class Agent:
    """The network, its target and its optimiser."""

    def __init__(self, blueprint: Blueprint, learning_rate: float, discount: float, seed: int) -> None:
        self.ops = needed(blueprint.ops)
        self.tensors = blueprint.init(jax.random.PRNGKey(seed))
        self.target = self.tensors
        self.optimizer = optax.adam(learning_rate)
        self.state = self.optimizer.init(self.tensors)
        self.discount = discount
        self.best = jax.jit(lambda tensors, rows, mask: jnp.where(mask, self.values(tensors, rows), MASKED).argmax())
        self.descend = jax.jit(self._descend)

    def values(self, tensors: Any, rows: Any) -> Any:
        """Return the value of every node [nodes]."""
        nodes = rows.shape[0]
        nothing = jnp.zeros(nodes, jnp.int32)
        none = jnp.zeros((nodes, 0))
        inputs = Inputs(rows, jnp.ones(nodes, bool), nothing, nothing.astype(jnp.float32), none, none, jnp.zeros(0))
        return forward(self.ops, tensors, inputs)[SCORE]

    def learn(self, batch: tuple[Any, ...]) -> None:
        """Take one step of Adam."""
        self.tensors, self.state = self.descend(self.tensors, self.target, self.state, batch)

    def _descend(self, tensors: Any, target: Any, state: Any, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        rows, action, reward, next_rows, next_mask, is_over = batch
        values = jax.vmap(self.values, in_axes=(None, 0))
        best = jnp.where(next_mask, values(target, next_rows), MASKED).max(axis=1)
        wanted = reward + self.discount * (1 - is_over) * jnp.where(next_mask.any(axis=1), best, 0.0)

        def loss(tensors: Any) -> Any:
            found = jnp.take_along_axis(values(tensors, rows), action[:, None], axis=1)[:, 0]
            return jnp.square(found - wanted).mean()

        updates, state = self.optimizer.update(jax.grad(loss)(tensors), state)
        return optax.apply_updates(tensors, updates), state


class Face:
    """The environment as the loop sees it: only decisions, rewards on the learner's scale."""

    def __init__(self, plan: Plan, prepared: Prepared) -> None:
        task, scale = prepared.program.task, prepared.data.scale
        self.env = gymnasium.make(
            "longshore/Placement-v0",
            workload=plan.workload,
            parameters=dict(plan.workload_config),
            objective=plan.objective,
            filters=plan.filters,
            features=task.features,
            lag_seconds=plan.lag_seconds,
        )
        self.nodes = prepared.data.selection.is_present.shape[-1]
        weights = np.array([weight for weight, _ in task.objective.terms])
        self.middle = float((scale.mean * weights).sum())
        self.spread = float((scale.deviation * weights / scale.weights).mean())

    def reset(self, seed: int) -> tuple[Any, Any]:
        """Begin a trace; return the rows and the mask of the first decision."""
        rows, info = self.env.reset(seed=seed)
        return rows, info["action_mask"][: self.nodes]

    def step(self, action: int) -> tuple[Any, Any, float, bool]:
        """Place the pod; return rows, mask, reward and whether the trace is over."""
        rows, reward, is_over, _, info = self.env.step(action)
        while not is_over and not info["action_mask"][: self.nodes].any():
            # A pod that fits nowhere can only wait: nothing to decide.
            rows, _, is_over, _, info = self.env.step(self.nodes)
        return rows, info["action_mask"][: self.nodes], (reward - self.middle) / self.spread, is_over


def train(plan: Plan, target: float, limit_seconds: float, judge_every: int, discount: float) -> dict[str, Any]:
    """Train until the policy reaches the return on the selection traces, or the time is over."""
    unhurried = time.perf_counter()
    prepared, hyper = prepare(plan), plan.build_learner()
    face, judge = Face(plan, prepared), _judge(prepared)
    paused = time.perf_counter() - unhurried
    agent = Agent(prepared.program.blueprint, hyper.learning_rate, discount or hyper.discount, plan.seed)
    replay = Replay(hyper.memory, face.nodes, len(prepared.program.task.features))
    random = np.random.default_rng(plan.seed)
    seeds = range(TRAINING_SEED, TRAINING_SEED + plan.traces)
    decided, seconds, reached = 0, 0.0, -np.inf
    is_over = True
    while reached < target and seconds < limit_seconds:
        if is_over:
            rows, mask = face.reset(int(random.choice(seeds)))
        share = min(decided / (hyper.exploration * hyper.steps), 1.0)
        epsilon = hyper.exploration_start + share * (hyper.exploration_end - hyper.exploration_start)
        if random.random() < epsilon:
            action = int(random.choice(np.flatnonzero(mask)))
        else:
            action = int(agent.best(agent.tensors, rows, mask))
        next_rows, next_mask, reward, is_over = face.step(action)
        replay.add(rows, action, reward, next_rows, next_mask, is_over)
        rows, mask = next_rows, next_mask
        decided += 1
        if decided >= hyper.learning_starts and decided % TRAIN_EVERY == 0:
            agent.learn(replay.sample(random, hyper.batch))
        if decided % TARGET_EVERY == 0:
            agent.target = agent.tensors
        if decided % judge_every == 0:
            before = time.perf_counter()
            reached = max(judge(agent.tensors), reached)
            paused += time.perf_counter() - before
        seconds = time.perf_counter() - STARTED - paused
    return {"seconds": seconds, "decisions": decided, "return": float(reached), "is_reached": bool(reached >= target)}


def _judge(prepared: Prepared) -> Any:
    """Return a function that plays the selection traces greedily and gives the mean return; compiled beforehand."""
    task, ops = prepared.program.task, needed(prepared.program.blueprint.ops)
    weights = np.array([weight for weight, _ in task.objective.terms])
    play = jax.jit(lambda tensors: judge_all(task, ops, tensors, prepared.data.selection, jnp.zeros(0, jnp.float32)))

    def judge(tensors: Any) -> float:
        return float((np.asarray(play(tensors).terms) * weights).sum(axis=-1).mean())

    judge(prepared.program.blueprint.init(jax.random.PRNGKey(0)))
    return judge


def main() -> None:
    """Read the command line, train and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="test1")
    parser.add_argument("--objective", default="el-rl")
    parser.add_argument("--nodes", type=int, default=0, help="0 = as many as the workload has by itself")
    parser.add_argument("--network", default="deepsets", choices=NETWORKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=float, default=117.4, help="mean return on the selection traces to reach")
    parser.add_argument("--limit-seconds", type=float, default=600.0)
    parser.add_argument("--judge-every", type=int, default=500, help="decisions between two judgements")
    parser.add_argument("--discount", type=float, default=0.0, help="0 = as ours")
    given = parser.parse_args()
    plan = Plan(
        learner="dqn",
        network=given.network,
        workload=given.workload,
        workload_config={"nodes": given.nodes} if given.nodes else {},
        objective=given.objective,
        seed=given.seed,
    )
    print(json.dumps(train(plan, given.target, given.limit_seconds, given.judge_every, given.discount)))


if __name__ == "__main__":
    main()
