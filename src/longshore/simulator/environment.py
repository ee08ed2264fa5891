"""Placement as an environment of pure functions: from one decision to the next, everything between played in one loop.

A decision is the arrival of a pod or another try of one that waits. An action is a node's number, or the number of
nodes to defer; the mask says which are allowed. An action that is not allowed defers and earns nothing. The episode is
over when nothing is left to happen, or when the objective says so (`strict`). The Gymnasium face and the learners call
this; it works under `jit` and `vmap`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore import filters as filter_room
from longshore.core.arrays import features as feature_table
from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.objectives.base import Objective, Transition
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import SimState
from longshore.simulator.transition import advance, initial, settle, visible, with_latency, with_next


class Moment(NamedTuple):
    """A simulation that waits for a decision."""

    state: SimState
    pod: Array  # [] int32; the pod to decide on
    feasible: Array  # [nodes] bool; where it may go
    is_over: Array  # [] bool; there is nothing to decide any more


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
    filters: tuple[str, ...] = filter_room.SETS["upstream+latency"]
    features: tuple[str, ...] = feature_table.ALL
    has_node_events: bool = True
    """False: no node ever fails, drains or joins, and the code for that is left out."""

    def reset(self, params: SimParams) -> tuple[Moment, Seen]:
        """Play up to the first decision."""
        moment = self._play_on(params, initial(params), jnp.zeros((), bool))
        return moment, self._look(params, moment)

    def step(self, params: SimParams, moment: Moment, action: Array) -> tuple[Moment, Seen, ActionResult]:
        """Carry an action out and play up to the next decision; nothing changes once the episode is over."""
        num_nodes = moment.feasible.shape[0]
        names_node = ~moment.is_over & (action >= 0) & (action < num_nodes)
        target = jnp.clip(action, 0, num_nodes - 1).astype(jnp.int32)
        is_placed = names_node & moment.feasible[target]
        node = jnp.where(is_placed, target, -1).astype(jnp.int32)
        pod_class = params.pod_class[moment.pod]
        devices = gpu.best_fit(visible(params, moment.state), pod_class)[target]
        settled = settle(params, moment.state, moment.pod, ~moment.is_over, node, devices)
        change = Transition(_true(params, moment.state), _true(params, settled), pod_class, target)
        ends = moment.is_over | (is_placed & self.objective.ends_episode(change))
        reward = jnp.where(is_placed, self.objective.reward(change), 0.0)
        after = self._play_on(params, settled, ends)
        return after, self._look(params, after), ActionResult(reward, node, names_node & ~is_placed)

    def _play_on(self, params: SimParams, state: SimState, is_over: Array) -> Moment:
        """Play events until the next decision."""

        def is_between(carry: tuple[SimState, Array, Array]) -> Array:
            _, kind, _ = carry
            return (kind != Kind.CREATE) & (kind != Kind.RETRY) & (kind != Kind.IDLE)

        def play(carry: tuple[SimState, Array, Array]) -> tuple[SimState, Array, Array]:
            after, event = advance(params, carry[0], has_node_events=self.has_node_events)
            return after, event.kind, event.pod

        # Any kind that is no decision starts the loop; an episode that is over is not played on.
        first = jnp.where(is_over, Kind.IDLE, Kind.LATENCY).astype(jnp.int32)
        state, kind, pod = jax.lax.while_loop(is_between, play, (state, first, jnp.zeros((), jnp.int32)))
        feasible = filter_room.feasible(visible(params, state), params.pod_class[pod], self.filters)
        is_over = is_over | (kind == Kind.IDLE)
        return Moment(state, pod, feasible & ~state.is_cordoned & ~is_over, is_over)

    def _look(self, params: SimParams, moment: Moment) -> Seen:
        cluster = with_next(params, moment.state, moment.pod, visible(params, moment.state))
        pod_class = params.pod_class[moment.pod]
        rows = feature_table.features(cluster, pod_class, moment.feasible, self.features)
        return Seen(rows, jnp.append(moment.feasible, True))


def _true(params: SimParams, state: SimState) -> ClusterArrays:
    """Return the cluster as it is: what is earned does not depend on when readings were taken."""
    cluster = visible(params, state)
    return with_latency(cluster, state.latency_ms)
