"""Varied mixes of the pods of a list, to train on: a policy that met one mix alone fails on others.

The pods of a list are kept, how often each comes is drawn anew: the shares of pods without GPU, with a part of one,
with one and with several, the shapes within them, and how many may use some GPU models only. A mix is played as the
list itself is: pods come at random until they ask for more than the cluster has.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.arrays.typical import most_frequent, typical_tables
from longshore.core.words.node import Node
from longshore.core.words.pod import GpuRequest
from longshore_studies.openb.filling import Filling
from longshore_studies.openb.tables.problem import Problem


@dataclass(frozen=True)
class MixRanges:
    """Between which bounds the shares of a mix are drawn, evenly; GPU shares are by the GPU that is asked for."""

    cpu_pods: tuple[float, float] = (0.0, 0.3)
    """Of the pods: those that want no GPU."""
    partial: tuple[float, float] = (0.1, 1.0)
    """Of the GPU demand of pods with at most one GPU: those that want a part of one."""
    several: tuple[float, float] = (0.0, 0.6)
    """Of the GPU demand: pods with more than one GPU."""
    constrained: tuple[float, float] = (-0.35, 0.4)
    """Of the GPU pods: those that may use some models only; below 0 = none."""
    held: tuple[float, float] = (1.0, 1.0)
    """How often such pods ask for a set of models: by the GPUs that it holds, to this power (0: however few)."""
    evenness: tuple[float, float] = (0.5, 8.0)
    """How close the shapes within a group come to their shares in the list (a gamma distribution's shape)."""


DEFAULT_RANGES = MixRanges()


def draw_mix(
    problem: Problem,
    model_sets: Sequence[tuple[str, ...]],
    seed: int,
    ratio: float,
    num_kinds: int,
    ranges: MixRanges = DEFAULT_RANGES,
) -> tuple[Filling, Array]:
    """Draw a mix and an order of arrivals; return the run and the GPU milli that each pod asks for.

    `num_kinds` is the size of the table of typical kinds: mixes of one size can be played side by side.
    """
    rng = np.random.default_rng(seed)
    pods, nodes = problem.pods, problem.nodes
    weights = _pod_weights(problem, rng, ranges)
    milli = pods.total_gpu_milli
    capacity = nodes.gpu_capacity_milli
    most = int(1.2 * ratio * capacity / max((weights * milli).sum(), 1.0)) + 100
    order = rng.choice(len(weights), most, p=weights)
    order = order[np.cumsum(milli[order]) <= ratio * capacity]
    sets = [(), *model_sets]
    models = np.zeros(len(order), np.int32)
    share = rng.uniform(*ranges.constrained)
    if share > 0 and model_sets:
        # Sets that hold few GPUs are asked for less: else the run is over before the cluster is half full.
        held = np.array([nodes.gpu_count[[model in one for model in nodes.model]].sum() for one in model_sets])
        # Numbers of its own, so that mixes of before, where it was always 1, are the same.
        power = np.random.default_rng([seed, 1]).uniform(*ranges.held)
        popularity = rng.gamma(2.0, size=len(model_sets)) * held.astype(float) ** power
        chosen = rng.choice(len(model_sets), len(order), p=popularity / popularity.sum()) + 1
        models = np.where((rng.random(len(order)) < share) & (milli[order] > 0), chosen, 0).astype(np.int32)
    by_rank = rng.permutation(len(nodes.names))
    run = problem.events(order, np.argsort(by_rank), seed)
    allowed = np.array([[not one or model in one for model in nodes.model] for one in sets])[:, by_rank]
    run = run._replace(allowed=allowed, models=models)
    return _with_typical(problem, run, order, [sets[one] for one in models], by_rank, num_kinds), milli[order]


def _pod_weights(problem: Problem, rng: np.random.Generator, ranges: MixRanges) -> Array:
    """Return how likely each pod of the list is to come next [pods]."""
    pods = problem.pods
    milli = pods.total_gpu_milli.astype(float)
    _, shape = np.unique(np.stack([pods.gpu_milli, pods.gpu_count, pods.cpu_milli]), axis=1, return_inverse=True)
    noise = rng.gamma(rng.uniform(*ranges.evenness), size=shape.max() + 1)[shape.ravel()]
    is_cpu, is_partial, is_several = milli == 0, (milli > 0) & (milli < 1000), milli > 1000
    several = rng.uniform(*ranges.several) if is_several.any() else 0.0
    partial = rng.uniform(*ranges.partial)
    demand = {"several": several, "partial": (1 - several) * partial, "one": (1 - several) * (1 - partial)}
    weights = np.zeros(len(milli))
    for group, members in (("several", is_several), ("partial", is_partial), ("one", milli == 1000)):
        asked = (noise * members * milli).sum()
        if asked > 0:
            weights += noise * members * demand[group] / asked
    cpu_share = rng.uniform(*ranges.cpu_pods)
    if is_cpu.any():
        weights += noise * is_cpu / (noise * is_cpu).sum() * weights.sum() * cpu_share / (1 - cpu_share)
    return weights / weights.sum()


def _with_typical(
    problem: Problem, run: Filling, order: Array, models: Sequence[tuple[str, ...]], by_rank: Array, num_kinds: int
) -> Filling:
    """Make the pods of a mix its typical ones."""
    pods = problem.pods
    kinds = Counter(
        (cpu, GpuRequest(count, milli, allowed) if count else None)
        for cpu, count, milli, allowed in zip(
            pods.cpu_milli[order].tolist(),
            pods.gpu_count[order].tolist(),
            pods.gpu_milli[order].tolist(),
            models,
            strict=True,
        )
    )
    of_nodes = zip(problem.nodes.names, problem.nodes.gpu_count.tolist(), problem.nodes.model, strict=True)
    nodes = [Node(name, gpu_count=count, gpu_model=model) for name, count, model in of_nodes]
    tables = typical_tables(most_frequent(kinds), nodes, len(nodes))
    by_kind = {name: _first(table, num_kinds) for name, table in tables.items() if name not in _BY_NODE}
    by_node = {name: tables[name][by_rank] for name in _BY_NODE}
    by_kind["typical_share"] = by_kind["typical_share"][:, by_rank]
    tables_of_mix = run.arrays.tables._replace(**by_kind, **by_node)
    return run._replace(arrays=run.arrays._replace(tables=tables_of_mix))


_BY_NODE = ("typical_rest", "typical_pressure")


def _first(table: Array, number: int) -> Array:
    """Return the first rows, so many; of those that are not there, zeros."""
    table = table[:number]
    return np.pad(table, ((0, number - len(table)), *[(0, 0)] * (table.ndim - 1)))
