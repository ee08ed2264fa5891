"""Q-table: the return expected of every choice in every state, with states cut into buckets (document 003).

A state is what is free on the nodes, in buckets and sorted, and what the pod and those behind it ask for. Sorting makes
states that differ only in the nodes' order one, and nodes in one bucket share a value. Pods may be deferred. The table
is dense while it is learnt and is kept for the states that were seen. For small clusters: it grows as buckets^nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore.agents import scoring
from longshore.agents.base import Figures, Learner, Seen, Segment
from longshore.agents.networks.base import Blueprint, Network, Sizes
from longshore.agents.ranges import AMOUNT, BUDGET, COUNT, SHARE, Range
from longshore.agents.returns import following
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import ROWS, SCORE, Op, table_key
from longshore.core.words.errors import InputError

KEYS, VALUES, EDGES = "keys", "values", "edges"
MOST_STATES = 2_000_000
# The value of what was never tried in a state where waiting was: below everything, so that it is not chosen.
_UNTRIED = -1e6


class QTableState(NamedTuple):
    """A table that is being learnt."""

    values: Array  # [states, nodes + 1] float32; the last = defer
    visits: Array  # [states, nodes + 1] int32
    decided: Array  # [] int32


class Cell(NamedTuple):
    """Where a decision stands in the table; every array [..., envs]."""

    state: Array  # int64
    place: Array  # [..., envs, nodes]; the column of each node
    allowed: Array  # [..., envs, nodes + 1] bool; columns that may be chosen


@dataclass(frozen=True)
class QTable(Learner, Network):
    """Tabular Q-learning over sorted buckets."""

    has_own_network: ClassVar[bool] = True
    """The table."""

    steps: Annotated[int, BUDGET] = 2_000_000
    """Decisions to learn from."""
    envs: Annotated[int, BUDGET] = 64
    """Environments played at once."""
    segment: Annotated[int, COUNT] = 64
    """Steps of each environment between updates."""
    resource: Literal["memory", "cpu"] = "memory"
    """What the state is about; the seed's clusters had memory only."""
    buckets: Annotated[int, Range(2)] = 10
    """Into how many equal parts free and asked-for amounts are cut; the seed's ten."""
    lookahead: Annotated[int, Range(1, 2)] = 1
    """Pods in the state: 1 = the one to place, 2 = also the one behind it."""
    may_defer: bool = True
    """A pod may be left waiting; that earns -1, as in the seed."""
    discount: Annotated[float, SHARE] = 0.9
    """How much the next decision's reward counts in this one's return; the seed has 0.3."""
    learning_rate: Annotated[float, AMOUNT] = 1.0
    """How far a value moves towards what was found, at first; the seed has 0.3, for ever."""
    rate_power: Annotated[float, AMOUNT] = 0.6
    """The rate falls with the visits to a cell by this power, so that values settle."""
    exploration: Annotated[float, SHARE] = 0.3
    """Share of decisions that explore; the seed has 0.15. The policy that comes out never explores."""

    @property
    def features(self) -> tuple[str, ...]:
        """What the table reads."""
        ahead = (f"next_{self.resource}",) if self.lookahead > 1 else ()
        return (f"node_{self.resource}_free", f"pod_{self.resource}", *ahead)

    def build(self, sizes: Sizes) -> Blueprint:
        """Return the table as a network of one operation.

        Raises:
            InputError: it would be too large.
        """
        if self.buckets ** (sizes.nodes + self.lookahead) > MOST_STATES:
            raise InputError(
                f"a Q-table of {self.buckets} buckets for {sizes.nodes} nodes has "
                f"{self.buckets}^{sizes.nodes + self.lookahead} states, expected {MOST_STATES} at most",
                "fewer `--buckets`, fewer nodes, or another learner",
            )
        return Blueprint((Op("lookup", (ROWS,), SCORE, (KEYS, VALUES, EDGES)),), (), sizes.nodes)

    def init(self, blueprint: Blueprint, key: Array, example: Seen) -> QTableState:
        """Return an empty table."""
        num_nodes = example.feasible.shape[-1]
        shape = (self.buckets ** (num_nodes + self.lookahead), num_nodes + 1)
        return QTableState(jnp.zeros(shape, jnp.float32), jnp.zeros(shape, jnp.int32), jnp.zeros((), jnp.int32))

    def act(
        self, blueprint: Blueprint, state: QTableState, key: Array, seen: Seen
    ) -> tuple[Array, Mapping[str, Array]]:
        """Take the best column, or explore: any of them, of nodes and of waiting alike."""
        cell = self._cell(seen)
        explore_key, random_key, tie_key = jax.random.split(key, 3)
        is_exploring = jax.random.uniform(explore_key, cell.state.shape, jnp.float32) < self.exploration
        column = jnp.where(
            is_exploring,
            scoring.uniform(random_key, cell.allowed),
            scoring.pick(state.values[cell.state], cell.allowed),
        )
        # Any feasible node of the column: they are alike.
        here = seen.feasible & (cell.place == column[..., None])
        return scoring.uniform(tie_key, here), {}

    def update(
        self, blueprint: Blueprint, state: QTableState, key: Array, segment: Segment
    ) -> tuple[QTableState, Figures]:
        """Go through the segment from its end, so that what comes later is known when what led to it is learnt."""
        seen = segment.seen
        cell = self._cell(seen)
        _, discount, index, is_known = following(segment.reward, seen.is_decision, segment.is_over, self.discount, 1)
        steps = jnp.minimum(index, segment.reward.shape[0] - 1)
        envs = jnp.arange(segment.reward.shape[1])[None, :]
        next_state, next_allowed = cell.state[steps, envs], cell.allowed[steps, envs]
        num_nodes = seen.feasible.shape[-1]
        column = jnp.where(segment.action >= 0, scoring.at(cell.place, segment.action), num_nodes)

        def back(table: QTableState, step: tuple[Array, ...]) -> tuple[QTableState, Array]:
            rows, columns, reward, discount, next_rows, next_allowed, is_known = step
            ahead = scoring.masked(table.values[next_rows], next_allowed).max(axis=-1)
            error = reward + discount * ahead - table.values[rows, columns]
            visits = table.visits.at[rows, columns].add(is_known.astype(jnp.int32))
            rate = self.learning_rate * jnp.maximum(visits[rows, columns], 1).astype(jnp.float32) ** -self.rate_power
            rate = jnp.maximum(rate, 1e-3)
            # Several environments may be in one cell: their mean counts.
            alike = (rows[:, None] == rows) & (columns[:, None] == columns) & is_known
            move = jnp.where(is_known, rate * error / jnp.maximum(alike.sum(axis=1), 1), 0.0)
            values = table.values.at[rows, columns].add(move)
            return table._replace(values=values, visits=visits), jnp.abs(error)

        found = (cell.state, column, segment.reward, discount, next_state, next_allowed, is_known)
        table, errors = jax.lax.scan(back, state, found, reverse=True)
        table = table._replace(decided=(table.decided + seen.is_decision.sum()).astype(jnp.int32))
        states = (table.visits > 0).any(axis=-1).sum().astype(jnp.float32)
        return table, {"loss": scoring.mean_over(errors, is_known), "states": states}

    def tensors(self, state: QTableState) -> dict[str, Array]:
        """Return the whole table; what was never tried is never chosen."""
        tried = state.visits > 0
        # Waiting that was never tried is no better than anything: the pod is placed. Just below all that was tried and
        # not far below: scores are differences to it, and float32 would lose theirs.
        lowest = jnp.where(tried, state.values, jnp.inf).min(axis=-1, keepdims=True)
        untried = jnp.where(tried[:, -1:], _UNTRIED, lowest - 1.0)
        values = jnp.where(tried, state.values, jnp.where(tried.any(axis=-1, keepdims=True), untried, 0.0))
        edges = jnp.arange(1, self.buckets, dtype=jnp.float32) / self.buckets
        return {KEYS: jnp.arange(values.shape[0], dtype=jnp.int64), VALUES: values.astype(jnp.float32), EDGES: edges}

    def trimmed(self, tensors: dict[str, Array]) -> dict[str, Array]:
        """Keep the states that were seen."""
        values = np.asarray(tensors[VALUES])
        is_seen = (values != 0).any(axis=-1)
        is_seen[0] |= not is_seen.any()  # a table has one row at least
        return {**tensors, KEYS: np.asarray(tensors[KEYS])[is_seen], VALUES: values[is_seen]}

    def _cell(self, seen: Seen) -> Cell:
        rows = seen.inputs.rows
        edges = jnp.arange(1, self.buckets, dtype=jnp.float32) / self.buckets
        buckets = (rows[..., None] >= edges).sum(axis=-1)
        free = buckets[..., 0]
        place = (free[..., None, :] < free[..., :, None]).sum(axis=-1)
        asked = buckets[..., 1:].max(axis=-2)
        state = table_key(jnp.concatenate([jnp.sort(free, axis=-1), asked], axis=-1), self.buckets)
        num_nodes = rows.shape[-2]
        columns = jnp.arange(num_nodes)
        at_place = ((place[..., None] == columns) & seen.feasible[..., None]).any(axis=-2)
        waiting = jnp.broadcast_to(seen.is_decision[..., None] & self.may_defer, (*seen.is_decision.shape, 1))
        return Cell(state, place, jnp.concatenate([at_place, waiting], axis=-1))
