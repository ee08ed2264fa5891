"""Training on filling clusters: it learns what its goal says, and the same seed gives the same policy."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from longshore_studies.openb.mixed_runs import Results, Runs, draw_runs, on_device, play
from longshore_studies.openb.tables.openb import read_nodes, read_pods
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.training import (
    GOALS,
    SELECTION_SEED,
    Goal,
    Judged,
    Schedule,
    Stage,
    Tensors,
    scored_by,
    train,
)
from studies.openb.tables.small_trace import TRACE, write_small_trace

SETS = (("G2",), ("P100", "T4"))
SHORT = Schedule((Stage(1, 31, 1.0),), population=32, mixes=4, pool=16, selection=8, judge_every=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of a small cluster."""
    return write_small_trace(tmp_path_factory.mktemp("trace"), num_nodes=12)


def train_both(folder: Path, schedule: Schedule, judged: list[Judged]) -> list[Tensors]:
    goals = [GOALS["allocation"], GOALS["nodes"]]
    return train(read_nodes(folder), read_pods(folder, TRACE), SETS, goals, 0, schedule, on_judged=judged.append)


def _worth(goal: Goal, tensors: Tensors, runs: Runs, problem: Problem) -> float:
    results = _play(tensors, runs, problem.num_shares)
    weighted = [np.array(weights) * np.asarray(getattr(results, name)) for name, weights in goal.items()]
    return float(sum(weighted).sum(axis=1).mean())


@partial(jax.jit, static_argnames=("num_shares",))
def _play(tensors: Tensors, runs: Runs, num_shares: int) -> Results:
    return play(scored_by(tensors), runs, num_shares)


def _drawn(tensors: Tensors, seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, leaf.std(), leaf.shape).astype(np.float32) for name, leaf in tensors.items()}


def test_each_goal_gets_more_of_what_it_asks_for(folder: Path) -> None:
    judged: list[Judged] = []
    trained = train_both(folder, SHORT, judged)
    problem = Problem(read_nodes(folder), read_pods(folder, TRACE))
    fresh = on_device(draw_runs(problem, SETS, range(SELECTION_SEED + 100, SELECTION_SEED + 112)))
    for tensors, goal in zip(trained, ("allocation", "nodes"), strict=True):
        own = _worth(GOALS[goal], tensors, fresh, problem)
        # What a learner ends with that follows the worst, and what one ends with that follows chance.
        assert own > _worth(GOALS[goal], jax.tree.map(np.negative, tensors), fresh, problem) + 10
        by_chance = [_worth(GOALS[goal], _drawn(tensors, seed), fresh, problem) for seed in range(4)]
        assert own > max(by_chance) + 15
    assert [one.generation for one in judged] == [0, 10, 20, 30]
    assert judged[-1].fitness.shape == (2,)


def test_the_same_seed_gives_the_same_policies(folder: Path) -> None:
    # Shapes as above, so that nothing is compiled again.
    tiny = replace(SHORT, stages=(Stage(1, 2, 4.0),))
    first, second = train_both(folder, tiny, []), train_both(folder, tiny, [])
    for one, other in zip(first, second, strict=True):
        for name, leaf in one.items():
            assert np.array_equal(leaf, other[name])
