"""Runs of varied mixes to train on, many at once: drawn, stacked, played, and read at some levels of demand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import MEMORY_COLUMN
from longshore_studies.openb.filling import Filled, Filling, fill
from longshore_studies.openb.tables.mixes import DEFAULT_RANGES, MixRanges, draw_mix
from longshore_studies.openb.tables.openb import Nodes
from longshore_studies.openb.tables.problem import Problem, Sizes, is_axis, side_by_side

LEVELS = (20, 50, 80, 90, 100, 130)
"""Percent of the cluster's GPUs that pods have asked for, at which runs are judged."""
NUM_KINDS = 48
"""Typical kinds of a mix at most: openb's lists have 28 to 42 that want a GPU."""


_EVENTS = 64
"""Runs are filled up to a multiple of so many events: few sizes, few compilations."""


class Results(NamedTuple):
    """Where runs stood at the levels of demand [..., levels]."""

    allocated: Array  # percent of the cluster's GPUs
    watts: Array  # watts that pods have added for each GPU of the cluster, idle nodes left on
    nodes_on: Array  # percent of the nodes that have a pod


class Runs(NamedTuple):
    """Runs to be played, and where in them the results are read: [runs, ...]."""

    filling: Filling
    reached: Array  # [runs, levels] int32; the event after which so much was asked for
    capacity: Array  # [] float32 milli


def play(policy: Policy, runs: Runs, num_shares: int) -> Results:
    """Play all runs with one policy: results [runs, levels]."""

    def one(filling: Filling, reached: Array) -> Results:
        return _results(fill(policy, filling, num_shares), filling, reached, runs.capacity)

    return jax.vmap(one, in_axes=(axes(runs.filling), 0))(runs.filling, runs.reached)


def _results(outcome: Filled, filling: Filling, reached: Array, capacity: Array) -> Results:
    num_nodes = filling.arrays.nodes.is_real.shape[0]
    return Results(
        allocated=100 * jnp.cumsum(outcome.milli)[reached] / capacity,
        watts=jnp.cumsum(outcome.watts)[reached] * 1000 / capacity,
        nodes_on=100 * jnp.cumsum(outcome.nodes_on)[reached] / num_nodes,
    )


def draw_runs(
    problem: Problem,
    model_sets: Sequence[tuple[str, ...]],
    seeds: Sequence[int],
    ranges: MixRanges = DEFAULT_RANGES,
) -> Runs:
    """Draw mixes and stack them; shorter runs are filled up with pods that may go nowhere."""
    drawn = [draw_mix(problem, model_sets, seed, LEVELS[-1] / 100, NUM_KINDS, ranges) for seed in seeds]
    capacity = problem.nodes.gpu_capacity_milli
    reached = [
        np.minimum(np.searchsorted(np.cumsum(milli), np.array(LEVELS) / 100 * capacity), len(milli) - 1)
        for _, milli in drawn
    ]
    lean = [_lean(filling) for filling, _ in drawn]
    sizes = Sizes.of(lean)
    sizes = sizes._replace(events=-(-sizes.events // _EVENTS) * _EVENTS)
    filling = side_by_side(lean, sizes, axes=axes)
    return Runs(filling, np.stack(reached).astype(np.int32), np.float32(capacity))


def axes(filling: Filling) -> Any:
    """Say along which axis each part of several mixes lies: classes, and what no mix changes, are shared (None)."""
    arrays = filling.arrays
    by_name = {name: 0 if name.startswith("typical") else None for name in arrays.tables._fields}
    tables: Any = arrays.tables._replace(**by_name)
    shared: Any = None
    own: Any = 0
    of_arrays = ClusterArrays(nodes=own, readings=shared, tables=tables, classes=shared, state=own)
    return Filling(of_arrays, *[own] * (len(Filling._fields) - 1))


def some(runs: Runs, index: Array) -> Runs:
    """Return some of the runs."""
    filling = jax.tree.map(
        lambda axis, part: part if axis is None else jax.tree.map(lambda leaf: leaf[index], part),
        axes(runs.filling),
        runs.filling,
        is_leaf=is_axis,
    )
    return Runs(filling, runs.reached[index], runs.capacity)


def on_device(runs: Runs) -> Runs:
    moved: Runs = jax.device_put(runs)
    return moved


_MIB_BITS = 20
_LEAN = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32}


def _lean(run: Filling) -> Filling:
    """Count memory in MiB and hold all numbers in 32 bits: no exact ties are needed, and a GPU is twice as quick."""
    nodes = run.arrays.nodes
    allocatable = nodes.allocatable.copy()
    allocatable[:, MEMORY_COLUMN] >>= _MIB_BITS
    arrays = run.arrays._replace(nodes=nodes._replace(allocatable=allocatable))

    def narrowed(leaf: Array) -> Array:
        leaf = np.asarray(leaf)
        return leaf.astype(_LEAN.get(leaf.dtype, leaf.dtype))

    lean: Filling = jax.tree.map(narrowed, run._replace(arrays=arrays, memory=run.memory >> _MIB_BITS))
    return lean


def every(nodes: Nodes, step: int) -> Nodes:
    """Return every so-manieth node."""
    rows = np.arange(0, len(nodes.names), step)
    return replace(
        nodes,
        names=tuple(nodes.names[row] for row in rows),
        cpu_milli=nodes.cpu_milli[rows],
        memory_mib=nodes.memory_mib[rows],
        gpu_count=nodes.gpu_count[rows],
        model=tuple(nodes.model[row] for row in rows),
    )
