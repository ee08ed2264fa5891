"""Placement as an environment of pure functions: from one decision to the next, everything between played in one loop.

A decision is the arrival of a pod or another try of one that waits. An action is a node's number, or the number of
nodes to defer; the mask says which are allowed. An action that is not allowed defers and earns nothing. The episode is
over when nothing is left to happen, or when the objective says so (`strict`). The Gymnasium face and the learners call
this; it works under `jit` and `vmap`.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore import filters as filter_room
from longshore.core.arrays import features as feature_table
from longshore.core.arrays import gpu
from longshore.core.arrays.ops import Array
from longshore.objectives.base import Objective
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import SimState
from longshore.simulator.transition import Next, Situation, act, advance, initial, situation, visible


class Moment(NamedTuple):
    """A simulation that waits for a decision."""

    state: SimState
    event: Next  # what asks for the decision
    feasible: Array  # [nodes] bool; where the pod may go
    is_over: Array  # [] bool; there is nothing to decide any more

    @property
    def pod(self) -> Array:
        """The pod to decide on, [] int32."""
        return self.event.pod


class Seen(NamedTuple):
    """What the one who decides is told."""

    rows: Array  # [nodes, features] float32
    action_mask: Array  # [nodes + 1] bool; the last one, to defer, is always allowed


class ActionResult(NamedTuple):
    """What an action led to."""

    reward: Array  # [] float64; 0 unless the pod was placed
    node: Array  # [] int32; where the pod was placed, -1 = it waits
    was_infeasible: Array  # [] bool; the action named a node that the pod may not go to


@dataclass(frozen=True)
class Environment:
    """What shapes the compiled program; the trace is data."""

    objective: Objective
    """Read from the cluster after the placement, with the true latencies."""
    filters: tuple[str, ...] = filter_room.filter_set("upstream+latency")
    features: tuple[str, ...] = feature_table.ALL
    has_node_events: bool = True
    """False: no node ever fails, drains or joins, and the code for that is left out."""

    def reset(self, params: SimParams) -> tuple[Moment, Seen]:
        """Play up to the first decision."""
        return self._play_on(params, initial(params), jnp.zeros((), bool))

    def step(
        self, params: SimParams, moment: Moment, action: Array, begins: Array | None = None
    ) -> tuple[Moment, Seen, ActionResult]:
        """Carry an action out and play up to the next decision; nothing changes once the episode is over.

        Where `begins` [] bool is given and true, a new episode on `params` takes the step's place.
        """
        num_nodes = moment.feasible.shape[0]
        is_idle = moment.is_over if begins is None else moment.is_over | begins
        names_node = ~is_idle & (action >= 0) & (action < num_nodes)
        target = jnp.clip(action, 0, num_nodes - 1).astype(jnp.int32)
        node = jnp.where(names_node & moment.feasible[target], target, -1)
        cluster, pod_class = visible(params, moment.state), params.pod_class[moment.pod]
        seen = Situation(moment.event, ~is_idle, cluster, pod_class, moment.feasible)
        devices = gpu.best_fit(cluster, pod_class)[target]
        acted = act(params, moment.state, seen, node, devices, has_node_events=False)
        state, is_over = acted.state, moment.is_over | acted.is_over(self.objective)
        if begins is not None:
            state = jax.tree.map(partial(jnp.where, begins), initial(params), state)
            is_over = is_over & ~begins
        after, told = self._play_on(params, state, is_over)
        return after, told, ActionResult(acted.earned(self.objective.reward), node, names_node & (node < 0))

    def _play_on(self, params: SimParams, state: SimState, is_over: Array) -> tuple[Moment, Seen]:
        """Play events until the next decision."""

        def is_between(carry: tuple[SimState, Next]) -> Array:
            kind = carry[1].kind
            return (kind != Kind.CREATE) & (kind != Kind.RETRY) & (kind != Kind.IDLE)

        def play(carry: tuple[SimState, Next]) -> tuple[SimState, Next]:
            return advance(params, carry[0], has_node_events=self.has_node_events)

        # Any kind that is no decision starts the loop; an episode that is over is not played on.
        kind, zero = jnp.where(is_over, Kind.IDLE, Kind.LATENCY).astype(jnp.int32), jnp.int32(0)
        state, event = jax.lax.while_loop(is_between, play, (state, Next(kind, state.time, zero, zero, zero)))
        seen = situation(self.filters, params, state, event)
        is_over = is_over | (event.kind == Kind.IDLE)
        feasible = seen.feasible & ~is_over
        rows = feature_table.features(seen.cluster, seen.pod_class, feasible, self.features)
        return Moment(state, event, feasible, is_over), Seen(rows, jnp.append(feasible, True))
