"""The optimum of the bucketed problem of `memory-pods`, by value iteration, beside which Q-table and DQN are judged.

    python benchmarks/value_iteration.py --objective compress [--decisions 3000000]

States are the Q-table's: sorted buckets of what is free, and the bucket of the pod. What a choice earns and where it
leads is counted over random placements on the training traces; value iteration solves that model, and the policy that
is greedy by it plays the report traces.
"""

import argparse
import json

import jax
import numpy as np

from longshore.agents.learners.qtable import EDGES, KEYS, VALUES, QTable
from longshore.agents.returns import following
from longshore.simulator.play import compile_traces
from longshore.training.program import experience
from longshore.training.run.plan import Plan
from longshore.training.run.prepare import prepare
from longshore.training.run.report import report
from longshore.workloads.build import build_workload

DISCOUNT = 0.9
UNTRIED = -1e6


def count(objective, decisions, seed):
    """Play at random; return (state, column, reward, next state, is the last) of every decision."""
    plan = Plan(
        learner="qtable",
        learner_config={"exploration": 1.0, "may_defer": False},
        objective=objective,
        workload="memory-pods",
        traces=96,
    )
    prepared = prepare(plan)
    task, learner, blueprint = prepared.program.task, prepared.program.learner, prepared.program.blueprint
    data = prepared.data

    @jax.jit
    def play(envs, key):
        renew_key, play_key = jax.random.split(key)
        envs = experience.renew(task, data.bank, data.scale, renew_key, envs, data.scale.weights)
        state = learner.init(blueprint, key, experience.example(task, data.bank, envs))
        envs, segment, _ = experience.collect(
            task, learner, blueprint, data.bank, data.scale, envs, state, 0.0, play_key
        )
        cell = learner._cell(segment.seen)
        _, discount, index, is_known = following(segment.reward, segment.seen.is_decision, segment.is_over, DISCOUNT, 1)
        steps = np.arange(segment.reward.shape[1])[None, :]
        ahead = cell.state[jax.numpy.minimum(index, learner.segment - 1), steps]
        column = jax.numpy.take_along_axis(cell.place, jax.numpy.maximum(segment.action, 0)[..., None], -1)[..., 0]
        return envs, (cell.state, column, segment.reward, ahead, discount == 0, is_known & (segment.action >= 0))

    keys = jax.random.split(jax.random.PRNGKey(seed), 2 * decisions // (learner.envs * learner.segment) + 1)
    envs = experience.start(task, data.bank, data.scale, keys[0], learner.envs)
    parts = []
    for key in keys[1:]:
        envs, found = play(envs, key)
        found = [np.asarray(one).ravel() for one in found]
        parts.append([one[found[-1]] for one in found[:-1]])
    return prepared, [np.concatenate(column) for column in zip(*parts, strict=True)]


def solve(counted, num_states, num_columns):
    """Iterate values; return Q [states, columns], what was never tried far below everything."""
    state, column, reward, ahead, is_last = counted
    pair = state * num_columns + column
    visits = np.bincount(pair, minlength=num_states * num_columns)
    earned = np.bincount(pair, weights=reward, minlength=num_states * num_columns) / np.maximum(visits, 1)
    link, number = np.unique(pair[~is_last] * num_states + ahead[~is_last], return_counts=True)
    source, target = link // num_states, link % num_states
    share = number / visits[source]
    values = np.zeros(num_states)
    for _ in range(400):
        q = earned + DISCOUNT * np.bincount(source, share * values[target], minlength=num_states * num_columns)
        q = np.where(visits > 0, q, UNTRIED).reshape(num_states, num_columns)
        new = np.where((visits > 0).reshape(num_states, num_columns).any(axis=1), q.max(axis=1), 0.0)
        if np.abs(new - values).max() < 1e-6:
            break
        values = new
    return q, visits.reshape(num_states, num_columns)


def main():
    """Count, solve, play."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objective", default="compress")
    parser.add_argument("--decisions", type=int, default=3_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=0, help="of the report traces")
    arguments = parser.parse_args()
    prepared, counted = count(arguments.objective, arguments.decisions, arguments.seed)
    learner: QTable = prepared.program.learner
    nodes = prepared.program.blueprint.nodes
    q, visits = solve(counted, learner.buckets ** (nodes + 1), nodes)
    is_seen = visits.any(axis=1)
    values = np.where(is_seen[:, None], np.column_stack([q, np.full(len(q), 2 * UNTRIED)]), 0.0)
    tensors = {
        KEYS: np.arange(len(q))[None],
        VALUES: values.astype(np.float32)[None],
        EDGES: (np.arange(1, learner.buckets, dtype=np.float32) / learner.buckets)[None],
    }
    seeds = range(arguments.first_seed, arguments.first_seed + 12)
    traces = compile_traces([build_workload("memory-pods", {}).trace(seed) for seed in seeds])
    metrics = report(prepared.program.task, prepared.program.blueprint, tensors, traces)
    rewards = metrics["reward"][0]
    print(
        json.dumps(
            {
                "objective": arguments.objective,
                "states": int(is_seen.sum()),
                "decisions": len(counted[0]),
                "reward": float(rewards.mean()),
                "rewards": rewards.tolist(),
            }
        )
    )


if __name__ == "__main__":
    main()
