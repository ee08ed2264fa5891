"""Features that are kept: columns that only nodes and readings decide are computed once for every class of pods.

For few nodes, where a decision costs NumPy calls and not rows: what runs on the nodes changes with every decision, so
its columns are computed for all of them, and nothing is compared. `policies.row_cache` is for many nodes. NumPy only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longshore.core.arrays import features as table
from longshore.core.arrays.cluster_arrays import ClusterArrays, Readings
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import runs_of, write_columns
from longshore.core.arrays.ops import Array

MOST_BYTES = 16 << 20
"""Of all that is kept: hundreds of classes at 200 nodes. The class that was not asked for the longest goes first."""
_CHANGING = (table.STATE, table.CLUSTER, table.ELSEWHERE)


@dataclass
class _Kept:
    """What is kept of one class of pods."""

    readings: Readings
    """That it was computed from."""
    rows: Array  # [features, nodes] float32


class ColumnCache:
    """Computes the features of one cluster, decision after decision."""

    def __init__(self, features: Sequence[str]) -> None:
        """Take the features by name, in the order of the columns."""
        self._all = tuple(enumerate(table.chosen(features)))
        changing = [(place, one) for place, one in self._all if one.scope in _CHANGING]
        self._runs, rest = runs_of(changing)
        self._changing = [(place, one) for place, one in rest if one.scope != table.CLUSTER]
        pooled = [(place, one) for place, one in rest if one.scope == table.CLUSTER]
        self._pooled = [one for _, one in pooled]
        self._pooled_at = _slice([place for place, _ in pooled])
        self._view: View | None = None
        self._kept: dict[int, _Kept] = {}

    def rows(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Return the features, float32 [nodes, features]; they are written over by the next call."""
        number = int(pod_class)  # NumPy takes a row by a plain number ten times faster than by an array
        if self._view is None or not has_same_frame(self._view.arrays, arrays):
            self._kept.clear()
            self._view = view = View(arrays, number, feasible)
        else:
            view = self._view.later(arrays, number, feasible)
        kept = self._kept.pop(number, None)
        if kept is not None and kept.readings is arrays.readings:
            for places, block_rows in self._runs:
                kept.rows[places] = view.block[block_rows]
            if self._pooled:
                kept.rows[self._pooled_at] = np.array([one.compute(view) for one in self._pooled])[:, None]
            write_columns(view, self._changing, kept.rows)
        else:
            kept = _Kept(arrays.readings, np.empty((len(self._all), feasible.shape[0]), np.float32))
            write_columns(view, self._all, kept.rows)
            while len(self._kept) >= max(MOST_BYTES // max(kept.rows.nbytes, 1), 1):
                del self._kept[next(iter(self._kept))]
        self._kept[number] = kept  # at the end: the first is the one that was not asked for the longest
        return kept.rows.T


def _slice(places: list[int]) -> slice | list[int]:
    """Return places as a slice where they stand side by side: NumPy writes to that three times faster."""
    is_run = places == list(range(places[0], places[0] + len(places))) if places else False
    return slice(places[0], places[0] + len(places)) if is_run else places


def has_same_frame(one: ClusterArrays, other: ClusterArrays) -> bool:
    """Tell whether two clusters differ at most in what runs there and what was read."""
    if one.nodes is other.nodes and one.tables is other.tables and one.classes is other.classes:
        return True
    pairs = ((one.nodes, other.nodes), (one.tables, other.tables), (one.classes, other.classes))
    return all(x is y for a, b in pairs for x, y in zip(a, b, strict=True))
