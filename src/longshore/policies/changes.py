"""Which nodes have other pods than when somebody looked last, by what pods take of them.

What pods change is written in place, so what was seen is copied. Whoever keeps values by node asks which nodes changed
after its own last look.
"""

import numpy as np

from longshore.core.arrays.cluster_arrays import State
from longshore.core.arrays.ops import Array

_BY_NODE = ("requested", "nonzero_requested", "pod_count", "keeping", "gpu_used")


class NodeChanges:
    """Sees changes of one cluster; `restart` when its nodes are others."""

    def __init__(self) -> None:
        self.tick = 0
        """Of the last look."""
        self._seen: tuple[Array, ...] = ()
        self._changed_at = np.zeros(0, np.int64)

    def restart(self, state: State) -> None:
        """Begin with other nodes."""
        self.tick += 1
        self._seen = tuple(getattr(state, name).copy() for name in _BY_NODE)
        self._changed_at = np.zeros(len(state.pod_count), np.int64)

    def look(self, state: State) -> int:
        """Take note of what differs from the last look; return this one's number."""
        self.tick += 1
        for name, last in zip(_BY_NODE, self._seen, strict=True):
            now = getattr(state, name)
            if last.size == 0:
                continue
            places = (now != last).ravel().nonzero()[0]
            if places.size:
                rows = places if last.ndim == 1 else places // last.shape[1]
                self.mark(rows)
                last[rows] = now[rows]
        return self.tick

    def mark(self, rows: Array) -> None:
        """Count nodes as changed in this look, for another reason."""
        self._changed_at[rows] = self.tick

    def since(self, tick: int) -> Array:
        """Return the rows of the nodes that changed after a look."""
        return (self._changed_at > tick).nonzero()[0]
