"""The end of a training on filling clusters: a search in directions that matter, which learns how they go together.

`training.filling` begins from nothing, many trainings at once, and needs a GPU for it. From where it ends, a search by
covariance (`training.covariance`) in whitened directions (`training.filling_basis`) goes on better: 60 generations of
it, minutes on one core, find what hundreds did not. It plays mixes whose pods come about as often as in the list.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.ops import Array
from longshore.evaluation.tables.mixes import MixRanges
from longshore.evaluation.tables.openb import Nodes, Pods
from longshore.evaluation.tables.problem import Problem
from longshore.training.covariance import CovarianceSearch
from longshore.training.filling import (
    SELECTION_SEED,
    TRAINING_SEED,
    Goal,
    Judged,
    Tensors,
    goal_weights,
    scored_by,
    weighed,
)
from longshore.training.filling_basis import search_basis
from longshore.training.mixed_runs import Results, Runs, draw_runs, every, on_device, play, some

RANGES = MixRanges(evenness=(4.0, 60.0))
"""Mixes with other shares of each group of pods, and within a group shapes about as frequent as in the list."""
BASIS_SEED = 30_000
WEIGHT = "score.weight"
"""The tensor that is searched; what is added to all scores of a decision alike decides nothing."""
_BASIS_RUNS = 6


@dataclass(frozen=True)
class Refinement:
    """A part of a refinement."""

    every: int
    """Of the cluster's nodes every so-manieth takes part."""
    generations: int
    deviation: float
    """Step size at its start, in scores."""
    population: int = 64
    mixes: int = 4
    """Mixes on which every variant of a generation is tried."""
    pool: int = 256
    """Mixes to draw from."""
    selection: int = 32
    """Mixes by which the best weights are kept."""
    judge_every: int = 10
    """Generations between two judgements on those."""


def refine(
    nodes: Nodes,
    pods: Pods,
    model_sets: Sequence[tuple[str, ...]],
    goal: Goal,
    seed: int,
    stages: Sequence[Refinement],
    start: Tensors,
    on_judged: Callable[[Judged], None] = lambda _: None,
) -> Tensors:
    """Return better tensors for a goal than `start`, or `start`; arguments as of `training.filling.train`."""
    weights: Results = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), goal_weights([goal]))
    small = Problem(every(nodes, stages[0].every), pods)
    drawn = draw_runs(small, model_sets, range(BASIS_SEED, BASIS_SEED + _BASIS_RUNS), RANGES)
    basis = search_basis(on_device(drawn), small.num_shares, start)
    rng = np.random.default_rng(seed)
    for number, stage in enumerate(stages):
        problem = Problem(every(nodes, stage.every), pods)
        mixes, judges = (
            on_device(draw_runs(problem, model_sets, range(first, first + many), RANGES))
            for first, many in ((TRAINING_SEED, stage.pool), (SELECTION_SEED, stage.selection))
        )
        judge = partial(_play, problem.num_shares, runs=judges)
        best, best_fitness = start, float(weighed(weights, judge(start)).mean())
        search = CovarianceSearch(len(basis), stage.population, stage.deviation, rng)
        for generation in range(stage.generations):
            chosen = some(mixes, jnp.asarray(rng.choice(stage.pool, stage.mixes, replace=False)))
            search.tell(np.asarray(_worth(problem.num_shares, start, basis, search.ask(), chosen, weights)))
            if (generation + 1) % stage.judge_every == 0 or generation == stage.generations - 1:
                found = _moved(start, basis, search.mean)
                results = judge(found)
                fitness = weighed(weights, results).mean()
                if fitness > best_fitness:
                    best, best_fitness = found, float(fitness)
                means = jax.tree.map(lambda leaf: np.asarray(leaf).mean(axis=0, keepdims=True), results)
                on_judged(Judged(number, generation, np.asarray(fitness)[None], means, [_on_host(best)]))
        start = best
    return _on_host(start)


def _on_host(tensors: Tensors) -> Tensors:
    return {name: np.asarray(leaf) for name, leaf in tensors.items()}


def _moved(start: Tensors, basis: Array, steps: Array) -> Tensors:
    """Return tensors with steps taken in the directions of the basis [directions]."""
    return {**start, WEIGHT: start[WEIGHT] + jnp.tensordot(jnp.asarray(steps, jnp.float32), basis, 1)}


@partial(jax.jit, static_argnames=("num_shares",))
def _play(num_shares: int, tensors: Tensors, *, runs: Runs) -> Results:
    return play(scored_by(tensors), runs, num_shares)


@partial(jax.jit, static_argnames=("num_shares",))
def _worth(num_shares: int, start: Tensors, basis: Array, variants: Array, runs: Runs, weights: Results) -> Array:
    """Return what every variant is worth on some runs [variants]."""

    def worth(steps: Array) -> Array:
        return weighed(weights, play(scored_by(_moved(start, basis, steps)), runs, num_shares)).mean()

    # A processor's cache holds the runs of one variant; a GPU wants all of them at once.
    at_once = 1 if jax.default_backend() == "cpu" else len(variants)
    return jax.lax.map(worth, variants, batch_size=at_once)
