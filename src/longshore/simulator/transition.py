"""One step: what happens next, what it changes, and the decision that it asks for."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from longshore import filters
from longshore.core.arrays import ClusterArrays, State
from longshore.core.ops import Array
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import ABSENT, GONE, RUNNING, WAITING, Outcome, SimState

Decide = Callable[[ClusterArrays, Array, Array], tuple[Array, Array]]
"""(cluster as the policy sees it, pod class, feasible [nodes]) -> (node or -1 to defer, milli per GPU [devices])."""

_LATE = np.iinfo(np.int32).max


class Program(NamedTuple):
    """What shapes the compiled program; everything else is data."""

    decide: Decide
    filters: tuple[str, ...] = filters.UPSTREAM
    has_node_events: bool = True
    """False: no node ever fails, drains or joins, and the code for that is left out."""


class _Next(NamedTuple):
    kind: Array
    time: Array
    pod: Array
    node: Array
    row: Array


def initial(params: SimParams) -> SimState:
    """Return the state before the first event."""
    num_pods, num_devices = params.pod_class.shape[0], params.cluster.state.gpu_used.shape[1]
    is_up = params.is_present & params.cluster.nodes.is_real
    return SimState(
        cluster=params.cluster.state,
        time=jnp.zeros((), jnp.float64),
        cursor=jnp.zeros((), jnp.int32),
        epoch=jnp.zeros((), jnp.int32),
        arrivals=jnp.zeros((), jnp.int32),
        is_up=is_up,
        is_cordoned=jnp.zeros_like(is_up),
        latency_ms=params.latency_ms[0],
        seen_latency_ms=params.latency_ms[0],
        pod_phase=jnp.full(num_pods, ABSENT, jnp.int8),
        pod_node=jnp.full(num_pods, -1, jnp.int32),
        pod_end=jnp.full(num_pods, jnp.inf),
        pod_order=jnp.full(num_pods, _LATE, jnp.int32),
        pod_tried=jnp.full(num_pods, _LATE, jnp.int32),
        pod_devices=jnp.zeros((num_pods, num_devices), jnp.int64),
    )


def step(program: Program, params: SimParams, state: SimState) -> tuple[SimState, Outcome]:
    """Play the next event."""
    state, event = advance(program, params, state)
    is_decision = (event.kind == Kind.CREATE) | (event.kind == Kind.RETRY)
    cluster = visible(params, state)
    pod_class = params.pod_class[event.pod]
    feasible = filters.feasible(cluster, pod_class, program.filters) & ~state.is_cordoned
    node, devices = program.decide(cluster, pod_class, feasible)
    node = jnp.where(is_decision & feasible.any(), node, -1).astype(jnp.int32)
    state = settle(params, state, event.pod, is_decision, node, devices)
    return state, Outcome(event.kind, event.time, event.pod, node, is_decision, feasible.sum().astype(jnp.int32))


def visible(params: SimParams, state: SimState) -> ClusterArrays:
    """Return the cluster as a policy sees it: nodes that are up, readings as last scraped."""
    cluster = params.cluster
    return cluster._replace(
        nodes=cluster.nodes._replace(is_real=state.is_up),
        readings=cluster.readings._replace(latency_ms=state.seen_latency_ms),
        state=state.cluster,
    )


def advance(program: Program, params: SimParams, state: SimState) -> tuple[SimState, _Next]:
    """Find the next event, move the clock, and apply all of it but the decision."""
    event = _next(params, state)
    has_lag = params.lag_seconds > 0
    interval = jnp.where(has_lag, params.lag_seconds, 1.0)
    is_scraped = jnp.floor(event.time / interval) > jnp.floor(state.time / interval)
    # A scrape sees what was before an event of the same moment; without lag, what is.
    seen = jnp.where(has_lag & is_scraped, state.latency_ms, state.seen_latency_ms)
    is_change = event.kind == Kind.LATENCY
    latency = jnp.where(is_change, params.latency_ms[event.row], state.latency_ms)
    is_from_trace = (event.kind != Kind.RETRY) & (event.kind != Kind.DEPART) & (event.kind != Kind.IDLE)
    state = state._replace(
        time=event.time,
        cursor=state.cursor + is_from_trace,
        latency_ms=latency,
        seen_latency_ms=jnp.where(has_lag, seen, latency),
        epoch=state.epoch + is_change,
    )
    state = _leave(params, state, event)
    return (_change_node(state, event) if program.has_node_events else state), event


def _next(params: SimParams, state: SimState) -> _Next:
    """Waiting pods that have not been tried since room came free go first, then whatever is due first.

    A pod whose lifetime is over leaves before anything else of the same moment.
    """
    order = jnp.where((state.pod_phase == WAITING) & (state.pod_tried < state.epoch), state.pod_order, _LATE)
    retry_pod = jnp.argmin(order)
    is_retry = order[retry_pod] < _LATE
    depart_pod = jnp.argmin(state.pod_end)
    depart_time = state.pod_end[depart_pod]
    cursor = jnp.minimum(state.cursor, params.event_time.shape[0] - 1)
    is_left = state.cursor < params.event_time.shape[0]
    event_time = jnp.where(is_left, params.event_time[cursor], jnp.inf)
    is_depart = depart_time <= event_time
    due = jnp.where(is_depart, depart_time, event_time)
    is_idle = ~is_retry & jnp.isinf(due)
    kind = jnp.where(is_retry, Kind.RETRY, jnp.where(is_depart, Kind.DEPART, params.event_kind[cursor]))
    pod = jnp.where(is_retry, retry_pod, jnp.where(is_depart, depart_pod, params.event_pod[cursor]))
    return _Next(
        kind=jnp.where(is_idle, Kind.IDLE, kind).astype(jnp.int32),
        time=jnp.where(is_retry | is_idle, state.time, due),
        pod=pod.astype(jnp.int32),
        node=params.event_node[cursor],
        row=params.event_row[cursor],
    )


def _leave(params: SimParams, state: SimState, event: _Next) -> SimState:
    """Take away a pod whose time is over or that is deleted."""
    is_leaving = (event.kind == Kind.DEPART) | (event.kind == Kind.DELETE)
    phase = state.pod_phase[event.pod]
    was_running = is_leaving & (phase == RUNNING)
    node = jnp.where(was_running, state.pod_node[event.pod], 0)
    cluster = _shift(params, state, event.pod, node, state.pod_devices[event.pod], jnp.where(was_running, -1, 0))
    return state._replace(
        cluster=cluster,
        epoch=state.epoch + was_running,
        pod_phase=state.pod_phase.at[event.pod].set(jnp.where(is_leaving, GONE, phase).astype(jnp.int8)),
        pod_end=state.pod_end.at[event.pod].set(jnp.where(is_leaving, jnp.inf, state.pod_end[event.pod])),
    )


def _change_node(state: SimState, event: _Next) -> SimState:
    """Apply a failure, a drain or a join."""
    is_fail, is_drain, is_join = (event.kind == kind for kind in (Kind.FAIL, Kind.DRAIN, Kind.JOIN))
    is_emptied = is_fail | is_drain
    here = jnp.arange(state.is_up.shape[0]) == event.node
    keeps = ~(here & is_emptied)
    evicted = (state.pod_phase == RUNNING) & (state.pod_node == event.node) & is_emptied
    # Evicted pods queue behind everybody, in the order of the trace.
    num_pods = state.pod_phase.shape[0]
    order = jnp.where(evicted, state.arrivals + jnp.arange(num_pods, dtype=jnp.int32), state.pod_order)
    cluster = state.cluster
    return state._replace(
        cluster=cluster._replace(
            requested=cluster.requested * keeps[:, None],
            nonzero_requested=cluster.nonzero_requested * keeps[:, None],
            pod_count=cluster.pod_count * keeps,
            counts=cluster.counts * keeps,
            gpu_used=cluster.gpu_used * keeps[:, None],
        ),
        is_up=(state.is_up & ~(here & is_fail)) | (here & is_join),
        is_cordoned=(state.is_cordoned | (here & is_drain)) & ~(here & is_join),
        epoch=state.epoch + (is_emptied | is_join),
        arrivals=state.arrivals + jnp.where(is_emptied, num_pods, 0),
        pod_phase=jnp.where(evicted, WAITING, state.pod_phase).astype(jnp.int8),
        pod_node=jnp.where(evicted, -1, state.pod_node),
        pod_end=jnp.where(evicted, jnp.inf, state.pod_end),
        pod_order=order,
        pod_tried=jnp.where(evicted, -1, state.pod_tried),
    )


def settle(params: SimParams, state: SimState, pod: Array, is_decision: Array, node: Array, devices: Array) -> SimState:
    """Write a decision down: the pod runs on the node, or waits (node -1)."""
    is_placed = is_decision & (node >= 0)
    target = jnp.maximum(node, 0)
    held = jnp.where(is_placed, devices, 0)
    is_new = is_decision & (state.pod_phase[pod] == ABSENT)
    phase = jnp.where(is_placed, RUNNING, jnp.where(is_decision, WAITING, state.pod_phase[pod]))
    end = jnp.where(is_placed, state.time + params.pod_lifetime[pod], state.pod_end[pod])
    cluster = _shift(params, state, pod, target, held, jnp.where(is_placed, 1, 0))
    return state._replace(
        cluster=cluster._replace(
            last_node=jnp.where(is_placed, target, cluster.last_node).astype(jnp.int32),
            step=cluster.step + is_placed.astype(jnp.uint32),
        ),
        arrivals=state.arrivals + is_new,
        pod_phase=state.pod_phase.at[pod].set(phase.astype(jnp.int8)),
        pod_node=state.pod_node.at[pod].set(jnp.where(is_placed, target, state.pod_node[pod]).astype(jnp.int32)),
        pod_end=state.pod_end.at[pod].set(end),
        pod_order=state.pod_order.at[pod].set(jnp.where(is_new, state.arrivals, state.pod_order[pod])),
        pod_tried=state.pod_tried.at[pod].set(jnp.where(is_decision, state.epoch, state.pod_tried[pod])),
        pod_devices=state.pod_devices.at[pod].set(jnp.where(is_decision, held, state.pod_devices[pod])),
    )


def _shift(params: SimParams, state: SimState, pod: Array, node: Array, devices: Array, sign: Array) -> State:
    """Add a pod's share to a node (sign 1), take it away (-1) or do neither (0)."""
    cluster, classes, pod_class = state.cluster, params.cluster.classes, params.pod_class[pod]
    return cluster._replace(
        requested=cluster.requested.at[node].add(sign * classes.request[pod_class]),
        nonzero_requested=cluster.nonzero_requested.at[node].add(sign * classes.nonzero_request[pod_class]),
        pod_count=cluster.pod_count.at[node].add(sign),
        counts=cluster.counts.at[:, node].add(sign * params.cluster.tables.match[:, pod_class]),
        gpu_used=cluster.gpu_used.at[node].add(sign * devices),
    )
