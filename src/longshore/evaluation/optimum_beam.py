"""The best placements that a wide beam finds, where pods leave one by one as in `test2`.

A state is the node of every pod that runs. At each pod the beam tries every node and keeps the states with the highest
sum of what they have earned and the most that they can still earn (by the relaxed dynamic program, which is never too
low). What it finds somebody could do; it is the optimum if no state that was dropped could have earned more.
"""

from dataclasses import replace

import numpy as np

from longshore.core.ops import Array
from longshore.evaluation.base import Bound
from longshore.evaluation.identical import HELD, MoveKind
from longshore.evaluation.optimum_dp import Layer, Table, state_keys, values

DEFAULT_WIDTH = 4096
# Relative rounding of sums of rewards: a state within it of the best could not have earned more.
_TOLERANCE = 1e-9


class _Beam:
    """The states that are kept; every array has one row per state."""

    def __init__(self, num_nodes: int) -> None:
        self.pods: list[int] = []
        """Pods that run, by columns of `where`."""
        self.where: Array = np.zeros((1, 0), np.int8)
        self.states: Array = np.zeros((1, num_nodes), np.int64)
        self.earned: Array = np.zeros(1)

    def take(self, rows: Array) -> None:
        """Keep these rows."""
        self.where, self.states, self.earned = self.where[rows], self.states[rows], self.earned[rows]

    def come(self, pod: int, layer: Layer, gain: Array) -> None:
        """Place a pod on every node that can take it."""
        rows = np.searchsorted(layer.keys, state_keys(self.states))
        parent, node = np.nonzero(layer.facts.is_feasible[rows])
        earned = self.earned[parent] + gain[rows[parent], node]
        self.take(parent)
        self.earned = earned
        self.where = np.column_stack([self.where, node.astype(np.int8)])
        self.states = self.states.copy()
        self.states[np.arange(len(node)), node] += 1
        self.pods = [*self.pods, pod]

    def leave(self, pod: int) -> None:
        """Take one pod away."""
        column = self.pods.index(pod)
        self.states = self.states.copy()
        self.states[np.arange(len(self.states)), self.where[:, column]] -= 1
        self.where = np.delete(self.where, column, axis=1)
        self.pods = [other for other in self.pods if other != pod]

    def clear(self) -> None:
        """Take all pods away."""
        self.pods, self.where = [], self.where[:, :0]
        self.states = np.zeros_like(self.states)

    def merge(self) -> None:
        """Of equal states keep the one that has earned most."""
        order = np.lexsort((-self.earned, self._hashes()))
        hashes = self._hashes()[order]
        self.take(order[np.concatenate([[True], hashes[1:] != hashes[:-1]])])

    def _hashes(self) -> Array:
        # Two different states with one hash (2^-64) would only lose one of them.
        factors = np.random.default_rng(len(self.pods)).integers(1, 2**63, self.where.shape[1], np.uint64)
        return (self.where.astype(np.uint64) + np.uint64(1)) @ (factors | np.uint64(1))


def best_found(table: Table, metric: str, *, width: int = DEFAULT_WIDTH) -> Bound:
    """Search for the best `reward`, or for the least of the time-weighted metrics of `identical.HELD`."""
    to_come = values(table, metric)
    problem, is_reward = table.problem, metric == "reward"
    beam, dropped = _Beam(problem.num_nodes), -np.inf
    for number, (move, layer) in enumerate(zip(problem.moves, table.layers[:-1], strict=True)):
        rows = np.searchsorted(layer.keys, state_keys(beam.states))
        if not is_reward:
            beam.earned = beam.earned - layer.facts.held[rows, HELD.index(metric)] * move.seconds
        if move.kind == MoveKind.COME:
            beam.come(move.pod, layer, layer.facts.reward if is_reward else np.zeros_like(layer.facts.reward))
        elif move.kind == MoveKind.LEAVE:
            beam.leave(move.pod)
        else:
            beam.clear()
        beam.merge()
        reached = np.searchsorted(table.layers[number + 1].keys, state_keys(beam.states))
        hope = beam.earned + to_come[number + 1][reached]
        if len(hope) > width:
            order = np.argsort(-hope, kind="stable")
            dropped = max(dropped, float(hope[order[width]]))
            beam.take(order[:width])
    return _bound(table, metric, beam, to_come[-1], dropped, width)


def _bound(table: Table, metric: str, beam: _Beam, last: Array, dropped: float, width: int) -> Bound:
    rows = np.searchsorted(table.layers[-1].keys, state_keys(beam.states))
    total = float((beam.earned + last[rows]).max())
    is_exact = dropped <= total + _TOLERANCE * max(1.0, abs(total))
    found = Bound(metric, total, f"beam({width})", is_exact=is_exact, is_reached=True)
    if metric == "reward":
        return found
    return replace(found, value=-total / max(table.problem.seconds, 1e-12))
