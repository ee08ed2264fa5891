"""A learned policy that remembers: what the first layer makes of a node's row is kept until the node changes.

The first layer is linear, so that it falls apart by what its inputs depend on (`arrays.features`):

    rows · W = own · W_own + elsewhere · W_elsewhere + cluster · W_cluster

The first part is kept per class of pods and node, and computed again for nodes whose pods or readings changed since.
The second is a few columns that depend on other nodes, the third one row for all nodes: both are new every time, as is
the rest of the network. A placement changes one node, so that this leaves little of the features to do.

What changed is found by comparing what runs on the nodes, and what was read there, with what the last call saw. Another
set of nodes, tables or classes empties the cache (`policies.kept`). NumPy only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from longshore.core.arrays import features as table
from longshore.core.arrays.cluster_arrays import ClusterArrays, Readings
from longshore.core.arrays.feature_table import Feature
from longshore.core.arrays.feature_view import Largest, View
from longshore.core.arrays.features import columns
from longshore.core.arrays.ops import Array, row_product, without_warnings
from longshore.core.network.forward import PREFERENCE, ROWS, SCORE, Op, bind, needed, run
from longshore.core.words.scope import Scope
from longshore.policies.base import Policy
from longshore.policies.changes import NodeChanges
from longshore.policies.inputs import Reads, with_rows
from longshore.policies.kept import Kept

MOST_BYTES = 64 << 20
"""Of all that is kept: some fifty classes at 5,000 nodes. The class that was not asked for the longest goes first."""


FEW_NODES = 2000
"""Up to so many nodes all are computed at every decision (`policies.column_cache`): to compare them costs more."""


class FirstLayer(NamedTuple):
    """The linear layer that a network begins with, and the operations after it."""

    matrix: Array  # [features, width]
    vector: Array  # [width]
    output: str
    rest: tuple[Op, ...]


def first_layer(
    ops: Sequence[Op], tensors: Mapping[str, Array], num_features: int, preference: Array
) -> FirstLayer | None:
    """Split a network after its first layer; None if it does not begin with a linear one that alone reads the rows.

    Weights that are given at run time may stand beside the rows: they are the same at every decision, and so become
    part of the layer's vector.
    """
    ops = needed(ops, SCORE)
    joined = {op.output: op for op in ops if op.kind == "concat" and op.inputs in ((ROWS,), (ROWS, PREFERENCE))}
    readers = [op for op in ops if op.output not in joined and {ROWS, *joined} & set(op.inputs)]
    if len(readers) != 1 or readers[0].kind != "linear":
        return None
    first = readers[0]
    matrix, vector = (tensors[name] for name in first.tensors)
    if matrix.dtype != np.float32 or vector.dtype != np.float32:
        return None
    if first.inputs[0] in joined and PREFERENCE in joined[first.inputs[0]].inputs:
        vector = vector + np.dot(np.asarray(preference, np.float32), matrix[num_features:])
    rest = tuple(op for op in ops if op is not first and op.output not in joined)
    return FirstLayer(matrix[:num_features], vector, first.output, rest)


@dataclass
class _Rows:
    """What is kept of one class of pods."""

    tick: int
    """Of the call at which it was last brought up to date."""
    rows: Array  # [features, nodes] float32; the own features
    first: Array  # [nodes, width] float32; what the first layer makes of them


class _Seen(NamedTuple):
    """What the last call saw, beside what runs on the nodes."""

    arrays: ClusterArrays
    largest: Largest


class RowCache:
    """A scoring function as `policies.learned` has, that keeps what it can; one for each policy and cluster."""

    def __init__(
        self,
        layer: FirstLayer,
        tensors: Mapping[str, Array],
        features: Sequence[str],
        prior: Policy | None,
        preference: Array,
        few: Callable[[ClusterArrays, Array, Array], Array],
        read: Reads,
    ) -> None:
        """Take a network that was split by `first_layer`; the others as of `policies.inputs.with_rows`.

        `few` scores clusters of few nodes, for which comparing costs more than it saves.
        """
        wanted = table.chosen(features)
        self._layer, self._prior, self._preference, self._few = layer, prior, preference, few
        self._rest, self._reads = bind(layer.rest, tensors), read
        own = [i for i, one in enumerate(wanted) if one.scope.is_of_one_node]
        self._own = tuple(wanted[i] for i in own)
        self._own_matrix = np.ascontiguousarray(layer.matrix[own])
        self._changing = {
            has_new_readings: self._positions((Scope.PODS, Scope.READINGS) if has_new_readings else (Scope.PODS,))
            for has_new_readings in (False, True)
        }
        self._cluster, self._cluster_matrix = self._of_scope(wanted, Scope.CLUSTER)
        self._elsewhere, self._elsewhere_matrix = self._of_scope(wanted, Scope.OTHERS)
        self._seen: _Seen | None = None
        self._kept: Kept[_Rows] = Kept(Scope.NODE)
        """What of it readings and pods change is computed again for the nodes concerned."""
        self._changes = NodeChanges()
        self._readings_tick = 0

    def __call__(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Score all nodes, float32 [nodes]."""
        if feasible.shape[0] <= FEW_NODES:
            return self._few(arrays, pod_class, feasible)
        seen = self._look(arrays, pod_class, feasible)
        view = View(arrays, pod_class, feasible, seen.largest)
        first = self._complete(view, self._up_to_date(view, int(pod_class)).first)
        inputs = with_rows(_NO_ROWS, arrays, pod_class, feasible, self._prior, self._preference, self._reads)
        found: Array = run(self._rest, inputs, {self._layer.output: first})[SCORE]
        return found

    def _positions(self, scopes: tuple[Scope, ...]) -> tuple[Array, tuple[Feature, ...]]:
        """Return which own features are of the scopes: their places, and themselves."""
        places = [i for i, one in enumerate(self._own) if one.scope in scopes]
        return np.array(places, np.int64), tuple(self._own[i] for i in places)

    def _of_scope(self, wanted: Sequence[Feature], scope: Scope) -> tuple[tuple[Feature, ...], Array]:
        places = [i for i, one in enumerate(wanted) if one.scope == scope]
        return tuple(wanted[i] for i in places), self._layer.matrix[places]

    def _look(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> _Seen:
        """Find what changed since the last call, and remember what is there now."""
        seen = self._seen
        if not self._kept.is_for(arrays) or seen is None:
            seen = _Seen(arrays, View(arrays, pod_class, feasible).largest)
            self._changes.restart(arrays.state)
        else:
            self._changes.look(arrays.state)
            if arrays.readings is not seen.arrays.readings:
                self._compare_readings(seen.arrays.readings, arrays.readings)
            seen = seen._replace(arrays=arrays)
        self._seen = seen
        return seen

    def _compare_readings(self, last: Readings, now: Readings) -> None:
        # No feature reads how near zones are: the network is told that anew every time.
        for before, after in zip(last._replace(zone_near=None), now._replace(zone_near=None), strict=True):
            if before is not after:
                # What is no number differs from itself: its node is then computed once too often.
                nodes = np.flatnonzero(before != after)
                self._changes.mark(nodes)
                self._readings_tick = self._changes.tick if nodes.size else self._readings_tick

    def _up_to_date(self, view: View, pod_class: int) -> _Rows:
        """Return what is kept of a class, with the nodes that changed computed again."""
        kept = self._kept.find(view.arrays, pod_class)
        stale = () if kept is None else self._changes.since(kept.tick)
        if kept is None or 2 * len(stale) > view.feasible.shape[0]:
            kept = self._new(view)
            self._kept.put(pod_class, kept, max(MOST_BYTES // max(kept.rows.nbytes + kept.first.nbytes, 1), 1))
        elif len(stale):
            self._renew(view, kept, stale)
        kept.tick = self._changes.tick
        return kept

    def _new(self, view: View) -> _Rows:
        rows = columns(view, self._own)
        return _Rows(self._changes.tick, rows.T, _product(rows, self._own_matrix) + self._layer.vector)

    def _renew(self, view: View, kept: _Rows, stale: Array) -> None:
        places, changing = self._changing[self._readings_tick > kept.tick]
        # One node is the usual case, and a slice of it costs NumPy no copy.
        index: Any = slice(int(stale[0]), int(stale[0]) + 1) if stale.size == 1 else stale
        if changing:
            kept.rows[places[:, None], stale] = columns(view.part(index), changing).T
            kept.first[index] = _product(kept.rows[:, index].T, self._own_matrix) + self._layer.vector

    def _complete(self, view: View, first: Array) -> Array:
        """Add to the kept part what depends on other nodes, and what is the same for all."""
        if not self._cluster and not self._elsewhere:
            return first.copy()  # what is kept is written to later, and a network may be nothing but its first layer
        num_columns, num_rows = len(self._elsewhere) + 1, view.is_real.shape[0]
        given = np.empty((num_columns, num_rows), np.float32)
        matrix = np.empty((num_columns, first.shape[1]), np.float32)
        for column, feature in zip(given[:-1], self._elsewhere, strict=True):
            column[...] = feature.compute(view)
        given[-1] = 1
        if not view.is_all_real:
            given[:, ~view.is_real] = 0
        matrix[:-1] = self._elsewhere_matrix
        pooled = np.array([feature.compute(view) for feature in self._cluster], np.float32)
        matrix[-1] = _product(pooled, self._cluster_matrix)
        product = _product(given.T, matrix)
        product += first
        return product


_NO_ROWS = np.zeros((0, 0), np.float32)
_product = without_warnings(row_product)
