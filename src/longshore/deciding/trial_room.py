"""A copy of a cluster's state on which pods are taken away and put back, to see whether another would fit. Pure.

Used by preemption and for the room of nominated pods. Where a class has no term that reads other nodes, all nodes are
asked at once, each with its own pods changed; otherwise one node is changed at a time.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from longshore import filters
from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.ops import Array
from longshore.core.words.decision import Rejection
from longshore.core.words.pod import Pod


class Move(NamedTuple):
    """One pod that is taken from a node's row, or put on it."""

    row: int
    pod: Pod


def is_node_local(encoded: Encoded, pod_class: int, names: Sequence[str]) -> bool:
    """Say whether what happens on one node cannot change whether the class fits on another."""
    classes = encoded.arrays.classes
    for name in names:
        if name == "PodTopologySpread" and classes.hard_spread.query[pod_class].any():
            return False
        if name == "InterPodAffinity":
            terms = (classes.affinity, classes.anti_affinity, classes.repelled_by)
            if any(term.query[pod_class].any() for term in terms):
                return False
        if name not in filters.REGISTRY.table:
            return False  # another package's: it may read whatever it likes
    return True


class TrialRoom:
    """The state of a cluster, to be changed and changed back."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        state = encoded.arrays.state
        self._original = state
        self._state = state._replace(
            requested=state.requested.copy(),
            pod_count=state.pod_count.copy(),
            counts=state.counts.copy(),
            gpu_used=state.gpu_used.copy(),
        )

    @property
    def arrays(self) -> ClusterArrays:
        """The cluster with the pods that are there now."""
        return self._encoded.arrays._replace(state=self._state)

    def put(self, moves: Sequence[Move]) -> None:
        """Put pods on nodes."""
        self._shift(moves, 1)

    def take(self, moves: Sequence[Move]) -> None:
        """Take pods from nodes."""
        self._shift(moves, -1)

    def restore(self, rows: Sequence[int]) -> None:
        """Bring some nodes back to what they were at the start."""
        at, state, original = list(rows), self._state, self._original
        state.requested[at] = original.requested[at]
        state.pod_count[at] = original.pod_count[at]
        state.counts[:, at] = original.counts[:, at]
        state.gpu_used[at] = original.gpu_used[at]

    def fits(self, pod_class: int, names: Sequence[str]) -> Array:
        """Say where a pod of the class could go now [nodes]."""
        return filters.feasible(self.arrays, np.asarray(pod_class), names)

    def reject(self, pod_class: int, names: Sequence[str], rows: Sequence[int]) -> dict[int, Rejection]:
        """Say for the nodes of `rows` where the class cannot go which filter rejects them first, and why."""
        found: dict[int, Rejection] = {}
        encoded = replace(self._encoded, arrays=self.arrays)
        for _, unit in filters.load(tuple(names)):
            allowed = unit.feasible(encoded.arrays, np.asarray(pod_class))
            rejected = [row for row in rows if not allowed[row] and row not in found]
            if rejected:
                found.update(zip(rejected, unit.explain(encoded, pod_class, rejected), strict=True))
        return found

    def _shift(self, moves: Sequence[Move], sign: int) -> None:
        if not moves:
            return
        arrays, state = self._encoded.arrays, self._state
        rows = np.array([move.row for move in moves])
        classes = np.array([self._encoded.class_of(move.pod) for move in moves])
        np.add.at(state.requested, rows, sign * arrays.classes.request[classes])
        np.add.at(state.pod_count, rows, sign)
        np.add.at(state.counts.T, rows, sign * arrays.tables.match[:, classes].T)
        for move in moves:
            if move.pod.spec.gpu is not None:
                held = gpu.held(move.pod.spec.gpu, move.pod.gpu_devices, state.gpu_used.shape[1])
                state.gpu_used[move.row] += sign * held


def fits_beside(encoded: Encoded, pod: Pod, kept: Sequence[Move], names: Sequence[str]) -> Array:
    """Say where a pod fits beside the pods that room is kept for [nodes], both with them and without them.

    Upstream's double pass: with them, since they will come; without, since what they would be needed for (affinity)
    is not there yet. Only the pods nominated to a node count on it.
    """
    pod_class = encoded.class_of(pod)
    mask = filters.feasible(encoded.arrays, np.asarray(pod_class), names).copy()
    room = TrialRoom(encoded)
    if is_node_local(encoded, pod_class, names):
        room.put(kept)
        return mask & room.fits(pod_class, names)
    for row in {move.row for move in kept}:
        room.put([move for move in kept if move.row == row])
        mask[row] &= room.fits(pod_class, names)[row]
        room.restore([row])
    return mask


def reject_beside(encoded: Encoded, pod: Pod, kept: Sequence[Move], names: Sequence[str]) -> dict[str, Rejection]:
    """Say for every node that cannot take a pod why not, counting the pods that room is kept for."""
    pod_class = encoded.class_of(pod)
    _, found = filters.judge(encoded, pod_class, names)
    room = TrialRoom(encoded)
    for row in {move.row for move in kept}:
        room.put([move for move in kept if move.row == row])
        rejection = room.reject(pod_class, names, [row]).get(row)
        room.restore([row])
        if rejection is not None:
            found[encoded.node_names[row]] = rejection
    return found
