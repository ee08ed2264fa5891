"""Directions to search in: combinations of features that differ equally much between the nodes of a decision.

Many features move together (what is left on a GPU, in steps of 50 milli; blocks of 1, 2, 4 and 8 free GPUs), and some
hardly move at all. A search that takes equal steps in every feature's weight spends them badly: its scores then change
by what a few loud features say. In the basis made here a step in any direction changes scores as much as in any other.
"""

from collections.abc import Sequence
from functools import partial

import jax
import numpy as np

from longshore.core.arrays import ClusterArrays
from longshore.core.feature_view import View
from longshore.core.features import chosen, columns
from longshore.core.forward import POD_KINDS
from longshore.core.ops import Array
from longshore.core.place import place
from longshore.evaluation.tables.problem import is_axis
from longshore.filters import feasible
from longshore.policies.heuristics.base import Heuristic
from longshore.policies.inputs import pod_kind
from longshore.simulator.filling import Filling, Outcome, fill
from longshore.training.mixed_runs import Runs, axes

_FLOOR = 1e-3
"""Directions that vary less than this share of the mean fade out: what moves nothing need not be searched."""
_ROOM = ("NodeResourcesFit", "GpuDevices")


def search_basis(
    runs: Runs, num_shares: int, policy: Heuristic, features: Sequence[str], decisions: int = 200
) -> Array:
    """Return for every kind of pod the basis [kinds, features, directions], from runs that `policy` plays.

    Args:
        runs: few; so many of each one's `decisions` are looked at.
        num_shares: classes that want a share of a GPU.
        policy: any that fills the cluster sensibly.
        features: names, in the order of the columns.
        decisions: of a run.
    """
    size = len(features)
    sums, counts = np.zeros((len(POD_KINDS), size, size)), np.zeros(len(POD_KINDS))
    outcomes = _play(policy, num_shares, runs)
    for number in range(len(runs.reached)):
        for kind, rows in _decisions(_one(runs.filling, number), outcomes, number, features, decisions):
            apart = rows - rows.mean(axis=0)
            sums[kind] += apart.T @ apart / len(apart)
            counts[kind] += 1
    covariance = sums / np.maximum(counts, 1)[:, None, None]
    return np.stack([_directions(one) for one in covariance]).astype(np.float32)


@partial(jax.jit, static_argnames=("policy", "num_shares"))
def _play(policy: Heuristic, num_shares: int, runs: Runs) -> Outcome:
    return jax.vmap(lambda one: fill(policy, one, num_shares), in_axes=(axes(runs.filling),))(runs.filling)


def _one(filling: Filling, number: int) -> Filling:
    """Return one of several runs, in NumPy."""

    def part(axis: object, values: object) -> object:
        return jax.tree.map(lambda leaf: np.asarray(leaf if axis is None else leaf[number]), values)

    one: Filling = jax.tree.map(part, axes(filling), filling, is_leaf=is_axis)
    return one


def _decisions(
    run: Filling, outcomes: Outcome, number: int, features: Sequence[str], many: int
) -> list[tuple[int, Array]]:
    """Return (kind of pod, rows of the nodes that can take it) of so many decisions."""
    nodes, on_device = np.asarray(outcomes.node[number]), np.asarray(outcomes.on_device[number])
    arrays, step, found = run.arrays, max(len(nodes) // many, 1), []
    for event, (pod_class, node) in enumerate(zip(run.pod_class, nodes, strict=True)):
        if event % step == 0:
            rows = _rows(arrays, pod_class, features)
            if len(rows) > 1:
                found.append((int(np.argmax(pod_kind(arrays, pod_class))), rows))
        if node >= 0:
            arrays = place(arrays, pod_class, node, on_device[event] * arrays.classes.gpu_milli[pod_class])
    return found


def _rows(arrays: ClusterArrays, pod_class: Array, features: Sequence[str]) -> Array:
    return columns(View(arrays, pod_class, arrays.nodes.is_real), chosen(features))[feasible(arrays, pod_class, _ROOM)]


def _directions(covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0)
    scale = np.sqrt(values) / (values + _FLOOR * max(float(values.mean()), 1e-12))
    # A kind that was never met has no directions worth more than others.
    return vectors * scale if values.max() > 0 else np.eye(len(values))
