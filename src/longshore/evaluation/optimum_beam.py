"""The best placements that a wide beam finds, where dynamic programming cannot go: `test2`, or many nodes.

A state is the node of every pod that runs, or just the pods per node where all pods of a moment leave together. At each
pod the beam tries every node and keeps the states with the highest sum of what they have earned and the most that they
can still earn (by the relaxed dynamic program, which is never too low; without it, just what they have earned). What it
finds somebody could do; it is the optimum if no state that was dropped could have earned more.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.evaluation.base import Bound
from longshore.evaluation.identical import HELD, Identical, Move, MoveKind
from longshore.evaluation.optimum_dp import Table, state_keys, values

DEFAULT_WIDTH = 4096
WIDTH_WITHOUT_TABLE = 512
"""Without the table every state's reward is worked out anew: a hundred times the cost."""
_MOST_WITHOUT_TABLE = 50_000
# Relative rounding of sums of rewards: a state within it of the best could not have earned more.
_TOLERANCE = 1e-9


class _Beam(NamedTuple):
    """The states that are kept; every array has one row per state."""

    pods: tuple[int, ...]
    """Pods that run, by columns of `where`."""
    where: Array  # [states, pods] int16
    states: Array  # [states, nodes] int64
    earned: Array  # [states] float64
    origin: Array  # [states] int64; the row before the last move that it came from
    went: Array  # [states] int64; where the pod of that move was placed, -1 = it was no placement

    def rows(self, rows: Array) -> "_Beam":
        """Keep these rows."""
        return _Beam(
            self.pods, self.where[rows], self.states[rows], self.earned[rows], self.origin[rows], self.went[rows]
        )


class _Known(NamedTuple):
    """What the beam reads of its states."""

    is_feasible: Array  # [states, nodes] bool
    gain: Array  # [states, nodes] float64
    held: Array  # [states, 3] float64


def best_found(table: Table, metric: str, *, width: int = DEFAULT_WIDTH) -> Bound:
    """Search for the best `reward`, or for the least of the time-weighted metrics of `identical.HELD`."""
    return _search(table.problem, metric, width, table)[0]


def best_found_without_table(problem: Identical, metric: str, *, width: int = WIDTH_WITHOUT_TABLE) -> Bound:
    """Search where there are too many states for `optimum_dp.make_table`.

    Raises:
        InputError: the search would take minutes, or a pod may have to wait.
    """
    _check_size(problem)
    return _search(problem, metric, width, None)[0]


def placements_found(problem: Identical, table: Table | None, num_pods: int, *, width: int | None = None) -> Array:
    """Return the node of every pod [num_pods] in the best placements that were found; -1 = not placed.

    Raises:
        InputError: the search would take minutes, or a pod may have to wait.
    """
    if table is None:
        _check_size(problem)
    default = WIDTH_WITHOUT_TABLE if table is None else DEFAULT_WIDTH
    placed = _search(problem, "reward", width or default, table)[1]
    nodes = np.full(num_pods, -1, np.int64)
    nodes[list(placed)] = list(placed.values())
    return nodes


def _check_size(problem: Identical) -> None:
    size = len(problem.moves) * problem.num_nodes
    if size > _MOST_WITHOUT_TABLE:
        raise InputError(
            f"pods times nodes is {size}, expected at most {_MOST_WITHOUT_TABLE}",
            "fewer nodes or fewer pods are searched",
        )


def _search(problem: Identical, metric: str, width: int, table: Table | None) -> tuple[Bound, dict[int, int]]:
    """Return the best value, and where each pod goes for it."""
    to_come = None if table is None else values(table, metric)
    start = np.zeros((1, problem.num_nodes), np.int64)
    nowhere = np.full(1, -1, np.int64)
    beam, dropped = _Beam((), np.zeros((1, 0), np.int16), start, np.zeros(1), nowhere, nowhere), -np.inf
    trail: list[tuple[Move, Array, Array]] = []
    for number, move in enumerate(problem.moves):
        known = _known(problem, table, number, move, beam.states)
        if metric != "reward":
            beam = beam._replace(earned=beam.earned - known.held[:, HELD.index(metric)] * move.seconds)
            known = known._replace(gain=np.zeros_like(known.gain))
        beam = _merged(problem, _moved(beam, move, known))
        hope = beam.earned
        if table is not None and to_come is not None:
            hope = hope + to_come[number + 1][_lookup(table, number + 1, beam.states)[0]]
        if len(hope) > width:
            order = np.argsort(-hope, kind="stable")
            # Without the table nobody knows what a dropped state could still have earned.
            dropped = max(dropped, float(hope[order[width]])) if table is not None else np.inf
            beam = beam.rows(order[:width])
        trail.append((move, beam.origin, beam.went))
    earned = beam.earned
    if metric != "reward":
        held = problem.facts(beam.states, np.zeros(problem.num_nodes)).held[:, HELD.index(metric)]
        earned = earned - held * problem.last_seconds
    best = int(earned.argmax())
    return _bound(problem, metric, float(earned[best]), dropped, width), _followed(trail, best)


def _followed(trail: list[tuple[Move, Array, Array]], row: int) -> dict[int, int]:
    """Follow a state back to the start; return where it placed each pod."""
    placed: dict[int, int] = {}
    for move, origin, went in reversed(trail):
        if move.kind == MoveKind.COME:
            placed[move.pod] = int(went[row])
        row = int(origin[row])
    return placed


def _bound(problem: Identical, metric: str, total: float, dropped: float, width: int) -> Bound:
    is_exact = dropped <= total + _TOLERANCE * max(1.0, abs(total))
    found = Bound(metric, total, f"beam({width})", is_exact=is_exact, is_reached=True)
    return found if metric == "reward" else replace(found, value=-total / max(problem.seconds, 1e-12))


def _known(problem: Identical, table: Table | None, number: int, move: Move, states: Array) -> _Known:
    """Look the states up in the table, or work them out."""
    if table is not None:
        row, column = _lookup(table, number, states)
        facts = table.layers[number].facts
    else:
        ordered, column = problem.canonical(states)
        distinct, row = np.unique(ordered, axis=0, return_inverse=True)
        row = row.reshape(-1)
        facts = problem.facts(distinct, move.latency_ms)
    is_feasible, gain = facts.is_feasible[row[:, None], column], facts.reward[row[:, None], column]
    if move.kind == MoveKind.COME and not is_feasible.any(axis=1).all():
        raise InputError("a pod may have to wait; expected a trace in which some node always has room")
    return _Known(is_feasible, gain, facts.held[row])


def _lookup(table: Table, number: int, states: Array) -> tuple[Array, Array]:
    """Return each state's row in a layer, and for each node its column there."""
    ordered, column = table.problem.canonical(states)
    return np.searchsorted(table.layers[number].keys, state_keys(ordered)), column


def _moved(beam: _Beam, move: Move, known: _Known) -> _Beam:
    """Return the states after a move: for a pod that comes, one for every node that can take it."""
    number = len(beam.earned)
    beam = beam._replace(origin=np.arange(number), went=np.full(number, -1, np.int64))
    if move.kind == MoveKind.CLEAR:
        return beam._replace(pods=(), where=beam.where[:, :0], states=np.zeros_like(beam.states))
    if move.kind == MoveKind.LEAVE:
        at = beam.pods.index(move.pod)
        states = beam.states.copy()
        states[np.arange(len(states)), beam.where[:, at]] -= 1
        return beam._replace(
            pods=beam.pods[:at] + beam.pods[at + 1 :], where=np.delete(beam.where, at, axis=1), states=states
        )
    parent, node = np.nonzero(known.is_feasible)
    grown = beam.rows(parent)
    states = grown.states.copy()
    states[np.arange(len(node)), node] += 1
    return _Beam(
        pods=(*beam.pods, move.pod),
        where=np.column_stack([grown.where, node.astype(np.int16)]),
        states=states,
        earned=grown.earned + known.gain[parent, node],
        origin=parent,
        went=node,
    )


def _merged(problem: Identical, beam: _Beam) -> _Beam:
    """Of states that are as good as each other keep the one that has earned most."""
    told_apart = beam.where if problem.has_single_leaving else problem.canonical(beam.states)[0]
    # Two different states with one hash (2^-64) would only lose one of them.
    factors = np.random.default_rng(1).integers(1, 2**63, told_apart.shape[1], np.uint64) | np.uint64(1)
    hashes = (told_apart.astype(np.uint64) + np.uint64(1)) @ factors
    order = np.lexsort((-beam.earned, hashes))
    ordered = hashes[order]
    return beam.rows(order[np.concatenate([[True], ordered[1:] != ordered[:-1]])])
