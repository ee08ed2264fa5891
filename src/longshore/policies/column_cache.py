"""Features that are kept: columns that only nodes and readings decide are computed once for every class of pods.

For few nodes, where a decision costs NumPy calls and not rows: what runs on the nodes changes with every decision, so
its columns are computed for all of them, and nothing is compared. `policies.row_cache` is for many nodes. NumPy only.
"""

from collections.abc import Sequence

import numpy as np

from longshore.core.arrays import features as table
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import runs_of, write_columns
from longshore.core.arrays.ops import Array
from longshore.core.words.scope import Scope
from longshore.policies.kept import Kept

MOST_BYTES = 16 << 20
"""Of all that is kept: hundreds of classes at 200 nodes. The class that was not asked for the longest goes first."""


class ColumnCache:
    """Computes the features of one cluster, decision after decision."""

    def __init__(self, features: Sequence[str]) -> None:
        """Take the features by name, in the order of the columns."""
        self._all = tuple(enumerate(table.chosen(features)))
        changing = [(place, one) for place, one in self._all if one.scope.changes_with_pods]
        self._runs, rest = runs_of(changing)
        self._changing = [(place, one) for place, one in rest if not one.scope.is_one_value]
        pooled = [(place, one) for place, one in rest if one.scope.is_one_value]
        self._pooled = [one for _, one in pooled]
        self._pooled_at = _slice([place for place, _ in pooled])
        self._view: View
        self._kept: Kept[Array] = Kept(Scope.READINGS)
        """Rows of the features [features, nodes] float32."""

    def rows(self, arrays: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        """Return the features, float32 [nodes, features]; they are written over by the next call."""
        number = int(pod_class)  # NumPy takes a row by a plain number ten times faster than by an array
        if self._kept.is_for(arrays):
            view = self._view.later(arrays, number, feasible)
        else:
            self._view = view = View(arrays, number, feasible)
        rows = self._kept.find(arrays, number)
        if rows is None:
            rows = np.empty((len(self._all), feasible.shape[0]), np.float32)
            write_columns(view, self._all, rows)
            self._kept.put(number, rows, max(MOST_BYTES // max(rows.nbytes, 1), 1))
            return rows.T
        for places, block_rows in self._runs:
            rows[places] = view.block[block_rows]
        if self._pooled:
            rows[self._pooled_at] = np.array([one.compute(view) for one in self._pooled])[:, None]
        write_columns(view, self._changing, rows)
        return rows.T


def _slice(places: list[int]) -> slice | list[int]:
    """Return places as a slice where they stand side by side: NumPy writes to that three times faster."""
    is_run = places == list(range(places[0], places[0] + len(places))) if places else False
    return slice(places[0], places[0] + len(places)) if is_run else places
