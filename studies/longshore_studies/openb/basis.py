"""Directions to search in: combinations of features by which the nodes of a decision differ equally much.

Many features move together (what is left on a GPU, in steps of 50 milli; blocks of 1, 2, 4 and 8 free GPUs), and some
hardly move at all. A search that takes equal steps in every feature's weight spends them badly: its scores change by
what a few loud features say. In the basis made here a step in any direction changes scores as much as in any other, and
directions in which nodes never differ are left out, which is more than half of them.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import chosen, columns
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.network.forward import POD_KINDS
from longshore.policies.inputs import pod_kind
from longshore_studies.openb.filling import Filled, Filling, fill, fits
from longshore_studies.openb.mixed_runs import Runs, axes
from longshore_studies.openb.tables.problem import is_axis
from longshore_studies.openb.training import FEATURES, Tensors, scored_by

_FLOOR = 1e-3
"""Directions that vary less than this share of the mean variance fade out."""
_LEAST = 0.02
"""Of a kind's longest direction: shorter ones are left out."""


def search_basis(
    runs: Runs, num_shares: int, tensors: Tensors, decisions: int = 300, *, features: Sequence[str] = FEATURES
) -> Array:
    """Return directions in the space of weights [directions, features, kinds], from runs that a policy plays.

    Args:
        runs: few; so many of each one's `decisions` are looked at.
        num_shares: classes that want a share of a GPU.
        tensors: of any policy that fills the cluster sensibly.
        decisions: of a run.
        features: those whose weights are to change; the others' stay.
    """
    size = len(FEATURES)
    is_searched = np.isin(FEATURES, features)
    sums, counts = np.zeros((len(POD_KINDS), size, size)), np.zeros(len(POD_KINDS))
    outcomes = _play(num_shares, tensors, runs)
    for number in range(len(runs.reached)):
        for kind, rows in _decisions(_one(runs.filling, number), outcomes, number, decisions):
            apart = (rows - rows.mean(axis=0)) * is_searched
            sums[kind] += apart.T @ apart / len(apart)
            counts[kind] += 1
    directions = []
    for kind, covariance in enumerate(sums / np.maximum(counts, 1)[:, None, None]):
        for direction in _directions(covariance):
            directions.append(np.zeros((size, len(POD_KINDS))))
            directions[-1][:, kind] = direction
    return np.array(directions, np.float32)


def at_loads(basis: Array, moves: Sequence[Sequence[float]]) -> Array:
    """Return every direction once for each of `moves`, which say how much it moves the weights of each of `LOADS`.

    [moves x directions, features, sets]
    """
    apart = np.einsum("dfk,ab->adfkb", basis, np.array(moves, np.float32))
    return apart.reshape(len(moves) * len(basis), len(FEATURES), -1)


def _directions(covariance: Array) -> Array:
    """Return the directions of a kind of pod [directions, features], each as long as it makes scores differ by 1."""
    variances, vectors = np.linalg.eigh(covariance)
    variances = np.maximum(variances, 0)
    if not variances.any():  # a kind that was never met, or a single node to choose from
        return np.zeros((0, len(variances)))
    lengths = np.sqrt(variances) / (variances + _FLOOR * variances.mean())
    return (vectors * lengths).T[lengths > _LEAST * lengths.max()]


@partial(jax.jit, static_argnames=("num_shares",))
def _play(num_shares: int, tensors: Tensors, runs: Runs) -> Filled:
    policy = scored_by(tensors)
    return jax.vmap(lambda one: fill(policy, one, num_shares), in_axes=(axes(runs.filling),))(runs.filling)


def _one(filling: Filling, number: int) -> Filling:
    one: Filling = jax.tree.map(
        lambda axis, part: part if axis is None else jax.tree.map(lambda leaf: leaf[number], part),
        axes(filling),
        filling,
        is_leaf=is_axis,
    )
    return one


def _decisions(run: Filling, outcomes: Filled, number: int, many: int) -> Iterator[tuple[int, Array]]:
    """Yield (kind of pod, rows of the nodes that can take it) of so many decisions."""
    nodes, on_device = np.asarray(outcomes.node[number]), np.asarray(outcomes.on_device[number])
    arrays, step = run.arrays, max(len(nodes) // many, 1)
    for event, (pod_class, node) in enumerate(zip(np.asarray(run.pod_class), nodes, strict=True)):
        if event % step == 0:
            rows, is_feasible, kind = _look(arrays, jnp.asarray(pod_class))
            found = np.asarray(rows, np.float64)[np.asarray(is_feasible)]
            if len(found) > 1:
                yield int(np.argmax(kind)), found
        if node >= 0:
            milli = jnp.asarray(on_device[event]) * arrays.classes.gpu_milli[pod_class]
            arrays = _placed(arrays, jnp.asarray(pod_class), jnp.asarray(node), milli)


_placed = jax.jit(place)


@jax.jit
def _look(arrays: ClusterArrays, pod_class: Array) -> tuple[Array, Array, Array]:
    rows = columns(View(arrays, pod_class, arrays.nodes.is_real), chosen(FEATURES))
    return rows, fits(arrays, pod_class), pod_kind(arrays, pod_class)
