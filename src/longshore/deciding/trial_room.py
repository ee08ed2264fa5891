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
from longshore.deciding.one_class import one_class
from longshore.filters.base import Reach

_ONLY = np.asarray(0)


class Move(NamedTuple):
    """One pod that is taken from a node's row, or put on it."""

    row: int
    pod: Pod


def is_node_local(encoded: Encoded, pod_class: int, names: Sequence[str]) -> bool:
    """Say whether what happens on one node cannot change whether the class fits on another."""
    units, classes = filters.load(tuple(names)), encoded.arrays.classes
    return all(unit.reach(classes, pod_class) < Reach.OTHER_NODES for _, unit in units)


class TrialRoom:
    """A copy of a cluster as pods of one class see it, to be changed and changed back."""

    def __init__(self, encoded: Encoded, pod_class: int, rows: Sequence[int] | None = None) -> None:
        """Copy what the class reads.

        Args:
            encoded: the cluster.
            pod_class: the class that is to be placed.
            rows: the nodes that are tried, which are then numbered from 0; None = all. See `is_node_local`.
        """
        self._whole = encoded
        self._encoded, queries = one_class(encoded, pod_class, None if rows is None else np.asarray(rows, np.int64))
        self._match = encoded.arrays.tables.match[queries]
        self._original = self._encoded.arrays.state
        state = self._original
        self._state = state._replace(
            requested=state.requested.copy(),
            pod_count=state.pod_count.copy(),
            counts=state.counts.copy(),
            gpu_used=state.gpu_used.copy(),
        )

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

    def fits(self, names: Sequence[str]) -> Array:
        """Say where a pod of the class could go now [nodes]."""
        return filters.feasible(self.arrays, _ONLY, names)

    def reject(self, names: Sequence[str], rows: Sequence[int]) -> dict[int, Rejection]:
        """Say for the nodes of `rows` where the class cannot go which filter rejects them first, and why."""
        encoded = replace(self._encoded, arrays=self.arrays)
        left = np.isin(np.arange(len(encoded.arrays.nodes.is_real)), list(rows))
        found = filters.refusals(encoded, 0, names, left)
        return {row: why for refused, reasons in found for row, why in zip(refused, reasons, strict=True)}

    @property
    def arrays(self) -> ClusterArrays:
        """The cluster with the pods that are there now."""
        return self._encoded.arrays._replace(state=self._state)

    def _shift(self, moves: Sequence[Move], sign: int) -> None:
        if not moves:
            return
        state = self._state
        rows = np.array([move.row for move in moves])
        classes = np.array([self._whole.class_of(move.pod) for move in moves])
        np.add.at(state.requested, rows, sign * self._whole.arrays.classes.request[classes])
        np.add.at(state.pod_count, rows, sign)
        np.add.at(state.counts.T, rows, sign * self._match[:, classes].T)
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
    room = TrialRoom(encoded, pod_class)
    if is_node_local(encoded, pod_class, names):
        room.put(kept)
        return mask & room.fits(names)
    for row in {move.row for move in kept}:
        room.put([move for move in kept if move.row == row])
        mask[row] &= room.fits(names)[row]
        room.restore([row])
    return mask


def reject_beside(encoded: Encoded, pod: Pod, kept: Sequence[Move], names: Sequence[str]) -> dict[str, Rejection]:
    """Say for every node that cannot take a pod why not, counting the pods that room is kept for."""
    pod_class = encoded.class_of(pod)
    _, found = filters.judge(encoded, pod_class, names)
    if not kept:
        return found
    room = TrialRoom(encoded, pod_class)
    for row in {move.row for move in kept}:
        room.put([move for move in kept if move.row == row])
        rejection = room.reject(names, [row]).get(row)
        room.restore([row])
        if rejection is not None:
            found[encoded.node_names[row]] = rejection
    return found
