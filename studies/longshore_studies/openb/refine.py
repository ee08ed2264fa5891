"""The end of a training on filling clusters: a search in directions that matter, which learns how they go together.

`openb.training` begins from nothing, many trainings at once, and needs a GPU for it. From where it ends, a search by
covariance (`openb.covariance`) in whitened directions (`openb.basis`) goes on better: 60 generations of
it, minutes on one core, find what hundreds did not. It plays mixes whose pods come about as often as in the list.

Every mix has the same say: on each, variants count by how far they are from its mean, in its own standard deviations.
Else mixes with pods that are bound to GPU models, where a variant easily gains or loses a point, would hide the
hundredths of all others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.ops import Array
from longshore_studies.openb.basis import at_loads, search_basis
from longshore_studies.openb.covariance import CovarianceSearch
from longshore_studies.openb.mixed_runs import Results, Runs, draw_runs, every, on_device, play, some
from longshore_studies.openb.steady import SteadySearch
from longshore_studies.openb.tables.mixes import MixRanges
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.problem import Problem
from longshore_studies.openb.training import (
    FEATURES,
    SELECTION_SEED,
    TOGETHER,
    TRAINING_SEED,
    WEIGHT,
    Goal,
    Judged,
    Tensors,
    goal_weights,
    has_load,
    scored_by,
    weighed,
)

RANGES = MixRanges(evenness=(15.0, 80.0), constrained=(-1.0, 0.35))
"""Mixes with other shares of each group of pods, and within a group shapes about as frequent as in the list.

Fewer are bound to GPU models than where a training begins: what such mixes ask for is soon learnt, and outweighs the
last hundredths of the others."""
BASIS_SEED = 30_000
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
    is_steady: bool = False
    """Whether steps keep their size, for what is small beside the noise (`openb.steady`)."""


def refine(
    nodes: Nodes,
    pods: Pods,
    model_sets: Sequence[tuple[str, ...]],
    goal: Goal,
    seed: int,
    stages: Sequence[Refinement],
    start: Tensors,
    on_judged: Callable[[Judged], None] = lambda _: None,
    *,
    moves: Sequence[Sequence[float]] = (TOGETHER,),
    ranges: MixRanges = RANGES,
    features: Sequence[str] = FEATURES,
) -> Tensors:
    """Return better tensors for a goal than `start`, or `start`; arguments as of `openb.training.train`, and

    Args:
        moves: where weights follow the cluster, which of them are searched (`openb.basis.at_loads`).
        ranges: of the mixes that are played.
        features: those whose weights are searched.
    """
    weights: Results = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), goal_weights([goal]))
    small = Problem(every(nodes, stages[0].every), pods)
    drawn = draw_runs(small, model_sets, range(BASIS_SEED, BASIS_SEED + _BASIS_RUNS), ranges)
    basis = search_basis(on_device(drawn), small.num_shares, start, features=features)
    if has_load(start):
        basis = at_loads(basis, moves)
    rng = np.random.default_rng(seed)
    for number, stage in enumerate(stages):
        problem = Problem(every(nodes, stage.every), pods)
        mixes, judges = (
            on_device(draw_runs(problem, model_sets, range(first, first + many), ranges))
            for first, many in ((TRAINING_SEED, stage.pool), (SELECTION_SEED, stage.selection))
        )
        make_search = SteadySearch if stage.is_steady else CovarianceSearch
        search = make_search(len(basis), stage.population, stage.deviation, rng)
        worth = partial(_worth, problem.num_shares, start, basis, weights=weights)
        judge = partial(_play, problem.num_shares, runs=judges)
        first = weighed(weights, judge(start))
        scale = _deviation(np.asarray(worth(search.ask(), runs=judges)))
        best, best_fitness = start, 0.0
        for generation in range(stage.generations):
            chosen = some(mixes, jnp.asarray(rng.choice(stage.pool, stage.mixes, replace=False)))
            search.tell(_equal_say(np.asarray(worth(search.ask(), runs=chosen))))
            if (generation + 1) % stage.judge_every == 0 or generation == stage.generations - 1:
                found = _moved(start, basis, search.mean)
                results = judge(found)
                fitness = np.mean((np.asarray(weighed(weights, results)) - first) / scale)
                if fitness > best_fitness:
                    best, best_fitness = found, float(fitness)
                means = jax.tree.map(lambda leaf: np.asarray(leaf).mean(axis=0, keepdims=True), results)
                on_judged(Judged(number, generation, np.asarray(fitness)[None], means, [_on_host(best)]))
        start = best
    return _on_host(start)


def _equal_say(worth: Array) -> Array:
    """Return how good variants are [variants], from their worth [variants, mixes]: in deviations from a mix's mean."""
    return ((worth - np.nanmean(worth, axis=0)) / _deviation(worth)).mean(axis=1)


def _deviation(worth: Array) -> Array:
    """Return by how much variants differ on each mix [mixes], from [variants, mixes]; 1 where they do not."""
    deviation = np.nanstd(worth, axis=0)
    return np.where(deviation > 0, deviation, 1.0)


def _on_host(tensors: Tensors) -> Tensors:
    return {name: np.asarray(leaf) for name, leaf in tensors.items()}


def _moved(start: Tensors, basis: Array, steps: Array) -> Tensors:
    """Return tensors with steps taken in the directions of the basis [directions]."""
    return {**start, WEIGHT: start[WEIGHT] + jnp.tensordot(jnp.asarray(steps, jnp.float32), basis, 1)}


@partial(jax.jit, static_argnames=("num_shares",))
def _play(num_shares: int, tensors: Tensors, *, runs: Runs) -> Results:
    return play(scored_by(tensors), runs, num_shares)


@partial(jax.jit, static_argnames=("num_shares",))
def _worth(num_shares: int, start: Tensors, basis: Array, variants: Array, *, runs: Runs, weights: Results) -> Array:
    """Return what every variant is worth on each of some runs [variants, runs]."""

    def worth(steps: Array) -> Array:
        return weighed(weights, play(scored_by(_moved(start, basis, steps)), runs, num_shares))

    # A processor's cache holds the runs of one variant; a GPU wants all of them at once.
    at_once = 1 if jax.default_backend() == "cpu" else len(variants)
    return jax.lax.map(worth, variants, batch_size=at_once)
