"""The optimum by dynamic programming over pods per node: total reward, time-weighted nodes and watts.

Exact where all pods of a moment leave together, as in `test1`. Where single pods leave, the state does not say on which
node the one that leaves is; here it may leave from any, which can only be better: then the value is a limit that no
policy passes. `optimum_beam.py` uses the values of all states as its compass.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.evaluation.base import Bound
from longshore.evaluation.identical import HELD, Facts, Identical, Move, MoveKind

MOST_STATES = 200_000
"""Of all moves together; a few seconds."""


class Layer(NamedTuple):
    """The states that can be before a move, or after the last one."""

    states: Array  # [states, nodes] int64, canonical, sorted by key
    keys: Array  # [states] bytes; one per state
    facts: Facts
    following: Array  # [states, choices] int64 rows of the next layer; -1 = not possible


@dataclass(frozen=True, eq=False)
class Table:
    """All states that any policy can reach."""

    problem: Identical
    layers: tuple[Layer, ...]
    """One per move, and one for the end."""

    @property
    def is_exact(self) -> bool:
        """No single pod leaves."""
        return not self.problem.has_single_leaving


def make_table(problem: Identical, *, most_states: int = MOST_STATES) -> Table:
    """Find all reachable states.

    Raises:
        InputError: there are too many, or a policy could get into a state in which a pod has to wait.
    """
    states = np.zeros((1, problem.num_nodes), np.int64)
    layers: list[Layer] = []
    total = 0
    for move in problem.moves:
        total += len(states)
        if total > most_states:
            raise InputError(
                f"more than {most_states} states of pods per node can be reached, expected fewer",
                "fewer nodes or fewer pods have fewer states",
            )
        facts = problem.facts(states, move.latency_ms)
        reached, is_possible = _reached(move, states, facts)
        if not is_possible.any(axis=1).all():
            raise InputError("a pod may have to wait; expected a trace in which some node always has room")
        following = np.full(is_possible.shape, -1, np.int64)
        after, _ = problem.canonical(reached[is_possible])
        kept, inverse = np.unique(state_keys(after), return_inverse=True)
        following[is_possible] = inverse.reshape(-1)
        layers.append(Layer(states, state_keys(states), facts, following))
        states = states_of_keys(kept, problem.num_nodes)
    no_latency = np.zeros(problem.num_nodes)
    facts = problem.facts(states, no_latency)
    layers.append(Layer(states, state_keys(states), facts, np.zeros((len(states), 0), np.int64)))
    return Table(problem, tuple(layers))


def values(table: Table, metric: str) -> list[Array]:
    """Return, for every layer, the best that can still be had from each state on [states]; minima are negative.

    For `reward` the sum over placements, for the others minus the sum of metric · seconds.
    """
    column = None if metric == "reward" else HELD.index(metric)
    moves, layers = table.problem.moves, table.layers
    held = [0.0 * layer.facts.held[:, 0] if column is None else -layer.facts.held[:, column] for layer in layers]
    best = [held[-1] * table.problem.last_seconds]
    for move, layer, cost in zip(reversed(moves), reversed(layers[:-1]), reversed(held[:-1]), strict=True):
        gain = np.where(layer.following >= 0, best[0][layer.following], -np.inf)
        if metric == "reward" and move.kind == MoveKind.COME:
            gain = gain + layer.facts.reward
        best.insert(0, gain.max(axis=1) + cost * move.seconds)
    return best


def optimum(table: Table, metric: str) -> Bound:
    """Return the optimum of `reward`, `active_nodes`, `watts` or `watts_idle_off`, or a limit to it."""
    total = float(values(table, metric)[0][0])
    if metric != "reward":
        seconds = table.problem.seconds
        total = -total / seconds if seconds > 0 else float(table.layers[-1].facts.held[:, HELD.index(metric)].min())
    is_exact = table.is_exact
    method = "dp" if is_exact else "dp, any pod may leave"
    return Bound(metric, total, method, is_exact=is_exact, is_reached=is_exact)


def best_placements(table: Table, num_pods: int) -> Array:
    """Return the node of every pod [num_pods] in placements that earn the optimal reward; -1 = not placed.

    Raises:
        InputError: single pods leave, so that the table does not say which.
    """
    if not table.is_exact:
        raise InputError("pods leave one by one; expected a trace in which all pods of a moment leave together")
    problem, worth = table.problem, values(table, "reward")
    nodes, state = np.full(num_pods, -1, np.int64), np.zeros((1, problem.num_nodes), np.int64)
    for move, layer, ahead in zip(problem.moves, table.layers[:-1], worth[1:], strict=True):
        if move.kind == MoveKind.CLEAR:
            state = np.zeros_like(state)
            continue
        ordered, column = problem.canonical(state)
        rows: Array = np.searchsorted(layer.keys, state_keys(ordered))
        row = int(rows[0])
        following = layer.following[row]
        gain = np.where(following >= 0, ahead[following] + layer.facts.reward[row], -np.inf)
        # The table's states are sorted; of the real nodes it is the one that has become this column.
        node = int(np.flatnonzero(column[0] == gain.argmax())[0])
        nodes[move.pod] = node
        state[0, node] += 1
    return nodes


def state_keys(states: Array) -> Array:
    """Return one comparable item per row of `states` [states, nodes]."""
    # Big-endian unsigned bytes sort as the numbers do, which numpy's `void` type compares.
    rows = np.ascontiguousarray(states.astype(">u2"))
    return rows.view(f"V{rows.shape[1] * 2}").reshape(-1)


def states_of_keys(keys: Array, num_nodes: int) -> Array:
    """Turn keys back into states [states, nodes]."""
    return np.ascontiguousarray(keys).view(">u2").reshape(len(keys), num_nodes).astype(np.int64)


def _reached(move: Move, states: Array, facts: Facts) -> tuple[Array, Array]:
    """Return the states after each choice [states, choices, nodes] and which choices there are."""
    if move.kind == MoveKind.CLEAR:
        return np.zeros_like(states)[:, None, :], np.ones((len(states), 1), bool)
    one = np.eye(states.shape[1], dtype=np.int64)
    if move.kind == MoveKind.COME:
        return states[:, None, :] + one, facts.is_feasible
    return states[:, None, :] - one, states > 0
