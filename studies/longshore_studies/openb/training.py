"""Training on clusters that fill up: variants of a policy play varied mixes of pods, and the best are followed.

The general training plays any workload and judges every step. Policies for the outside tables are judged by where whole
runs of thousands of pods end, and their runs need no more than `openb.filling` offers, which is a hundred times
quicker. The learner is the same `evolution`, the network is `kinds`, the mixes are `openb.tables.mixes`.

Several trainings go side by side in one program, each with its goal and its own noise, on the same mixes. A training
goes in stages: it begins on a part of the cluster, where a run is short, and ends on more of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore.agents.learners.evolution import Evolution, EvolutionState
from longshore.agents.networks.base import Sizes
from longshore.agents.networks.kinds import Kinds
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import LOADS, POD_KINDS, needed
from longshore.policies.base import Policy
from longshore.policies.learned import own_rows
from longshore_studies.openb.mixed_runs import LEVELS, Results, Runs, draw_runs, every, on_device, play, some
from longshore_studies.openb.tables.openb import Nodes, Pods
from longshore_studies.openb.tables.problem import Problem

FEATURES = (
    "gpu_left_after",
    "gpu_left_nothing",
    *(f"gpu_left_from_{least}" for least in range(0, 1000, 50)),
    *(f"gpu_had_from_{least}" for least in range(50, 1000, 50)),
    "gpu_opens",
    "gpu_partly_used",
    "gpu_wholly_free",
    *(f"gpu_blocks_of_{size}_lost" for size in (1, 2, 4, 8)),
    "gpu_free_after",
    "gpu_waste_added",
    "gpu_potential_after",
    "cpu_per_idle_gpu_after",
    "cpu_per_gpu",
    "gpu_devices",
    *(f"gpu_devices_{size}" for size in (1, 2, 4, 8)),
    "gpu_model_wanted",
    "gpu_busy_watts",
    "gpu_idle_watts",
    "pwr_watts_added",
    "node_is_on",
    "node_cpu_used",
    "after_cpu_used",
)
"""What policies for the tables read: the node itself and what the pod would change there."""
TIE_TOLERANCE = 1.0
"""Nodes that are nearly as good as the best go by name, which packs pods together. How large scores are is learnt."""
WEIGHT = "score.weight"
"""The tensor that decides; what is added to all scores of a decision alike decides nothing."""
TOGETHER = (1, 1, 0)
"""Of weights for each of `LOADS`: those for an empty and for a full cluster are mixed, and make one set if they are
equal; those for scarce CPU are added to it."""
TRAINING_SEED, SELECTION_SEED = 10_000, 20_000
"""Mixes of one purpose never serve the other; the tables' own runs are of other seeds, and of no mix."""
Goal = Mapping[str, Sequence[float]]
"""Weights of each of `Results`, one for each level: their sum is what a policy is to maximise."""

GOALS: Mapping[str, Goal] = {
    "allocation": {"allocated": (0, 0, 4, 6, 2, 2)},
    "power": {"allocated": (0, 0, 1.5, 1.5, 1, 0.5), "watts": (-1, -0.8, -0.6, 0, 0, 0)},
    "nodes": {"allocated": (0, 0, 6, 2, 0.4, 0.1), "nodes_on": (-2, -2, -2, 0, 0, 0)},
}


@dataclass(frozen=True)
class Stage:
    """A part of a training."""

    every: int
    """Of the cluster's nodes every so-manieth takes part."""
    generations: int
    """How often the population is renewed."""
    deviation: float
    """Step size at its start, in scores: nodes that lie less than `TIE_TOLERANCE` apart count as equal."""
    mean_rate: float = 1.0
    """How far the mean follows the best variants."""


@dataclass(frozen=True)
class Schedule:
    """How long and how widely is searched."""

    stages: tuple[Stage, ...]
    population: int = 128
    """Variants per generation and training."""
    mixes: int = 4
    """Mixes on which every variant of a generation is tried."""
    pool: int = 256
    """Mixes to draw from."""
    selection: int = 32
    """Mixes by which the best policy of a training is kept."""
    judge_every: int = 20
    """Generations between two judgements on those."""


Tensors = dict[str, Array]


class Judged(NamedTuple):
    """How the trainings stand after a generation."""

    stage: int
    generation: int
    fitness: Array  # [trainings]; on the mixes of selection
    results: Results  # [trainings, levels]; means over these mixes
    best: list[Tensors]  # [trainings]; what would be returned if this were the end


class _Ground(NamedTuple):
    """What is played on in the stages on one part of the cluster."""

    num_shares: int
    mixes: Runs
    selection: Runs


def train(
    nodes: Nodes,
    pods: Pods,
    model_sets: Sequence[tuple[str, ...]],
    goals: Sequence[Goal],
    seed: int,
    schedule: Schedule,
    start: Sequence[Tensors] | None = None,
    on_judged: Callable[[Judged], None] = lambda _: None,
) -> list[Tensors]:
    """Train one policy for each goal and return their tensors, as they were when they did best on the selection mixes.

    Args:
        nodes: the cluster.
        pods: the list whose pods are mixed.
        model_sets: the sets of GPU models that pods may be bound to.
        goals: one for each training; the same goal twice makes two trainings that differ by their noise.
        seed: of that noise.
        schedule: how long.
        start: tensors to begin from; None = zeros.
        on_judged: is told how it goes.
    """
    blueprint = Kinds().build(Sizes(len(FEATURES), 0))
    weights = jax.tree.map(jnp.asarray, goal_weights(goals))
    key = jax.random.PRNGKey(seed)
    best: Tensors | None = None if start is None else jax.tree.map(lambda *leaves: jnp.stack(leaves), *start)
    grounds: dict[int, _Ground] = {}
    for number, stage in enumerate(schedule.stages):
        if stage.every not in grounds:
            grounds[stage.every] = _prepare(Problem(every(nodes, stage.every), pods), model_sets, schedule)
        num_shares, mixes, selection = grounds[stage.every]
        # Its own first step size stays out of it: else every stage would be compiled anew.
        learner = Evolution(1, schedule.population, schedule.mixes, 1.0, stage.mean_rate, deviation_rate=0.3)
        state = jax.vmap(partial(learner.init, blueprint))(jax.random.split(key, len(goals)))
        state = state._replace(
            mean=jax.tree.map(jnp.zeros_like, state.mean) if best is None else best,
            deviation=jax.tree.map(lambda leaf, size=stage.deviation: size * leaf, state.deviation),
        )
        # Another part of the cluster is another scale: what was best there is judged again.
        best_fitness = np.full(len(goals), -np.inf)
        for generation in range(stage.generations):
            key, own = jax.random.split(key)
            state = _generation(learner, num_shares, state, own, mixes, weights)
            if generation % schedule.judge_every == 0 or generation == stage.generations - 1:
                results = _judge(num_shares, state.mean, selection)
                fitness = np.asarray(weighed(weights, results).mean(axis=-1))
                best_fitness, best = _better(best_fitness, best, fitness, state.mean)
                means = jax.tree.map(lambda leaf: np.asarray(leaf).mean(axis=1), results)
                on_judged(Judged(number, generation, fitness, means, _one_by_one(best, len(goals))))
    assert best is not None
    return _one_by_one(best, len(goals))


def _one_by_one(stacked: Tensors, trainings: int) -> list[Tensors]:
    return [jax.tree.map(lambda leaf, which=which: np.asarray(leaf[which]), stacked) for which in range(trainings)]


def _prepare(problem: Problem, model_sets: Sequence[tuple[str, ...]], schedule: Schedule) -> _Ground:
    mixes = on_device(draw_runs(problem, model_sets, range(TRAINING_SEED, TRAINING_SEED + schedule.pool)))
    held_back = range(SELECTION_SEED, SELECTION_SEED + schedule.selection)
    selection = on_device(draw_runs(problem, model_sets, held_back))
    return _Ground(problem.num_shares, mixes, selection)


def scored_by(tensors: Mapping[str, Array]) -> Policy:
    """Return tensors as the policy that they are: with weights for each kind of pod, or for each and each load."""
    network = Kinds(by_load=has_load(tensors))
    ops = needed(network.build(Sizes(len(FEATURES), 0)).ops)
    return own_rows(ops, tensors, FEATURES, jnp.zeros(0), tie_tolerance=TIE_TOLERANCE)


def has_load(tensors: Mapping[str, Array]) -> bool:
    """Tell whether weights follow the cluster."""
    return bool(tensors[WEIGHT].shape[1] > len(POD_KINDS))


def by_load(tensors: Tensors) -> Tensors:
    """Return the same policy with weights for each of `LOADS`, which make no difference as yet."""
    if has_load(tensors):
        return tensors
    return {
        name: (leaf[..., None] * np.array(TOGETHER, np.float32)).reshape(*leaf.shape[:-1], -1)
        for name, leaf in tensors.items()
    }


def has_ends(tensors: Tensors) -> bool:
    """Tell whether an empty and a full cluster have weights that differ."""
    weight = tensors[WEIGHT]
    return has_load(tensors) and not np.array_equal(weight[:, :: len(LOADS)], weight[:, 1 :: len(LOADS)])


def steeper(tensors: Tensors, by: float) -> Tensors:
    """Return a policy whose weights for an empty cluster are further from those for a full one, by so much of it."""
    if not has_load(tensors):
        return tensors
    moved = {name: np.array(leaf) for name, leaf in tensors.items()}
    for leaf in moved.values():
        leaf[..., :: len(LOADS)] += by * (leaf[..., :: len(LOADS)] - leaf[..., 1 :: len(LOADS)])
    return moved


@partial(jax.jit, static_argnames=("learner", "num_shares"))
def _generation(
    learner: Evolution, num_shares: int, state: EvolutionState, key: Array, mixes: Runs, weights: Results
) -> EvolutionState:
    """Try variants of every training on some mixes, and move their means."""
    own, drawn = jax.random.split(key)
    chosen = some(mixes, jax.random.choice(drawn, mixes.reached.shape[0], (learner.traces,), replace=False))

    def fitness(tensors: Tensors, weight: Results) -> Array:
        return weighed(weight, play(scored_by(tensors), chosen, num_shares)).mean()

    num_trainings = weights.allocated.shape[0]
    variants, noise = jax.vmap(learner.ask)(state, jax.random.split(own, num_trainings))
    worth = jax.vmap(jax.vmap(fitness, in_axes=(0, None)))(variants, weights)
    moved: EvolutionState = jax.vmap(learner.tell)(state, noise, worth)[0]
    return moved


@partial(jax.jit, static_argnames=("num_shares",))
def _judge(num_shares: int, tensors: Tensors, runs: Runs) -> Results:
    """Play runs with the policy of every training: [trainings, runs, levels]."""
    return jax.vmap(lambda one: play(scored_by(one), runs, num_shares))(tensors)


def weighed(weights: Results, results: Results) -> Array:
    """Weigh results [trainings, runs, levels] by goals [trainings, levels]; or those of one of each."""
    parts = zip(weights, results, strict=True)
    return sum((jnp.expand_dims(weight, -2) * result).sum(axis=-1) for weight, result in parts)


def goal_weights(goals: Sequence[Goal]) -> Results:
    """Return the goals' weights [trainings, levels]."""
    return Results(
        *[np.array([goal.get(name, (0,) * len(LEVELS)) for goal in goals], np.float32) for name in Results._fields]
    )


def _better(fitness: Array, best: Tensors | None, new_fitness: Array, new: Tensors) -> tuple[Array, Tensors]:
    """Keep, for every training, whichever did better."""
    if best is None:
        return new_fitness, new
    is_better = new_fitness > fitness
    kept = jax.tree.map(lambda old, now: jnp.where(is_better.reshape(-1, *[1] * (now.ndim - 1)), now, old), best, new)
    return np.maximum(fitness, new_fitness), kept
