"""One step, as everything that plays takes it: look, choose, act, and what the placement was worth.

A step either decides on a pod or changes something else, never both: so the decision is made on the cluster as it is,
and all changes are written down once, at the end. A rollout takes whole steps; learners and the Gymnasium environment
look, have their own say in the choice, and act.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore import filters
from longshore.core.arrays.cluster_arrays import ClusterArrays, State
from longshore.core.arrays.ops import Array, ratio
from longshore.core.arrays.place import shift
from longshore.objectives.base import Objective, Transition
from longshore.policies.base import Policy, choose_node
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import ABSENT, ASLEEP, BLOCK, GONE, LATE, RUNNING, WAITING, SimState, StepTaken


class Program(NamedTuple):
    """What shapes the compiled program; everything else is data."""

    policies: tuple[Policy, ...]
    """Those that may decide; which one does is data."""
    filters: tuple[str, ...] = filters.UPSTREAM
    has_node_events: bool = True
    """False: no node ever fails, drains or joins, and the code for that is left out."""


class Next(NamedTuple):
    """What happens next."""

    kind: Array
    time: Array
    pod: Array
    node: Array
    row: Array


def initial(params: SimParams) -> SimState:
    """Return the state before the first event."""
    num_pods, num_devices = params.pod_class.shape[0], params.cluster.state.gpu_used.shape[1]
    blocks = -(-num_pods // BLOCK)
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
        pod_devices=jnp.zeros((num_pods, num_devices), jnp.int64),
        pod_end=jnp.full((blocks, BLOCK), jnp.inf),
        pod_order=jnp.full((blocks, BLOCK), LATE, jnp.int32),
        pod_tried=jnp.full((blocks, BLOCK), -1, jnp.int32),
        first_end=jnp.full(blocks, jnp.inf),
        first_waiting=jnp.full(blocks, LATE, jnp.int32),
        first_untried=jnp.full(blocks, LATE, jnp.int32),
    )


class Situation(NamedTuple):
    """What a step is about, before anybody has decided."""

    event: Next
    is_decision: Array  # [] bool; a pod arrives, or is tried again
    cluster: ClusterArrays  # as a policy sees it
    pod_class: Array  # [] int32
    feasible: Array  # [nodes] bool


class Acted(NamedTuple):
    """What a step led to."""

    state: SimState
    taken: StepTaken
    change: Transition  # with the latencies as they are; about node 0 where no pod was placed

    def earned(self, reward: Callable[[Transition], Array]) -> Array:
        """Return what the placement earns; 0 where there was none."""
        return jnp.where(self.taken.node >= 0, reward(self.change), 0.0)

    def is_over(self, objective: Objective) -> Array:
        """Say whether nothing is left to happen, or the objective ends the episode."""
        is_ended = (self.taken.node >= 0) & objective.ends_episode(self.change)
        return (self.taken.kind == Kind.IDLE) | is_ended


def step(program: Program, params: SimParams, state: SimState, policy: Array | int = 0) -> Acted:
    """Play the next event, `policy` (a row of the program's) being the one that decides."""
    state, seen = look(program.filters, params, state)
    # Only the choice differs between policies: the rest of the step is traced and compiled once for all of them.
    choices = [partial(_choose, one) for one in program.policies]
    node, devices = choices[0](seen) if len(choices) == 1 else jax.lax.switch(policy, choices, seen)
    return act(params, state, seen, node, devices, has_node_events=program.has_node_events)


def _choose(policy: Policy, seen: Situation) -> tuple[Array, Array]:
    choice = choose_node(policy, seen.cluster, seen.pod_class, seen.feasible)
    return choice.node.astype(jnp.int32), choice.devices


def look(filter_names: tuple[str, ...], params: SimParams, state: SimState) -> tuple[SimState, Situation]:
    """Move the clock to the next event and see what it asks for."""
    event = _next(params, state)
    state = _tick(params, state, event)
    return state, situation(filter_names, params, state, event)


def situation(filter_names: tuple[str, ...], params: SimParams, state: SimState, event: Next) -> Situation:
    """Return what an event asks for; the clock stands at it already."""
    is_decision = (event.kind == Kind.CREATE) | (event.kind == Kind.RETRY)
    cluster = with_next(params, state, event.pod, visible(params, state))
    pod_class = params.pod_class[event.pod]
    feasible = filters.feasible(cluster, pod_class, filter_names) & ~state.is_cordoned
    return Situation(event, is_decision, cluster, pod_class, feasible)


def act(
    params: SimParams, state: SimState, seen: Situation, node: Array, devices: Array, *, has_node_events: bool
) -> Acted:
    """Write down what happens: the pod goes to the node (-1 = it waits), or the event that is no decision."""
    event = seen.event
    node = jnp.where(seen.is_decision & seen.feasible.any(), node, -1).astype(jnp.int32)
    after = _settle(params, state, event, seen.is_decision, node, devices)
    if has_node_events:
        after = _change_node(params, after, event)
    num_feasible = seen.feasible.sum().astype(jnp.int32)
    # What is earned does not depend on when readings were taken.
    change = Transition(
        with_latency(seen.cluster, state.latency_ms),
        with_latency(visible(params, after), state.latency_ms),
        seen.pod_class,
        jnp.maximum(node, 0),
    )
    return Acted(after, StepTaken(event.kind, event.time, event.pod, node, seen.is_decision, num_feasible), change)


def advance(params: SimParams, state: SimState, *, has_node_events: bool) -> tuple[SimState, Next]:
    """Move the clock to the next event, and apply all of it but the decision."""
    event = _next(params, state)
    state = _tick(params, state, event)
    no_devices = jnp.zeros(params.cluster.state.gpu_used.shape[1], jnp.int64)
    state = _settle(params, state, event, jnp.zeros((), bool), jnp.int32(-1), no_devices)
    return (_change_node(params, state, event) if has_node_events else state), event


def visible(params: SimParams, state: SimState) -> ClusterArrays:
    """Return the cluster as a policy sees it: nodes that are up, readings as last scraped."""
    cluster = params.cluster
    cluster = cluster._replace(nodes=cluster.nodes._replace(is_real=state.is_up), state=state.cluster)
    return with_latency(cluster, state.seen_latency_ms)


def with_next(params: SimParams, state: SimState, pod: Array, cluster: ClusterArrays) -> ClusterArrays:
    """Tell the cluster which class of pod waits behind the one to decide on, as far as that is known.

    Behind a pod that arrives it is the one that the trace creates next, at the same moment; behind one that is tried
    again it is the next in the queue that has not been tried since room came free. Nobody computes it who does not
    read it: the compiler leaves it out.
    """
    cursor = jnp.minimum(state.cursor, params.event_time.shape[0] - 1)
    arrives = (
        (state.cursor < params.event_time.shape[0])
        & (params.event_kind[cursor] == Kind.CREATE)
        & (params.event_time[cursor] == state.time)
    )
    # The least in the queue of every block; of the pod's own block without the pod.
    own = pod // BLOCK
    others = jnp.where(jnp.arange(BLOCK) == pod % BLOCK, LATE, state.pod_order[own])
    first = state.first_untried.at[own].set(_untried(others, state.pod_tried[own], state.epoch).min())
    block = jnp.argmin(first)
    order = jnp.where(block == own, others, state.pod_order[block])
    waiting = block * BLOCK + jnp.argmin(_untried(order, state.pod_tried[block], state.epoch))
    is_retry = state.pod_phase[pod] == WAITING
    is_known = jnp.where(is_retry, first[block] < LATE, arrives)
    # A block may have room for more pods than there are, and none of those is ever in the queue.
    behind = jnp.where(is_retry, jnp.minimum(waiting, params.pod_class.shape[0] - 1), params.event_pod[cursor])
    next_class = jnp.where(is_known, params.pod_class[behind], -1).astype(jnp.int32)
    return cluster._replace(state=cluster.state._replace(next_class=next_class))


def with_latency(cluster: ClusterArrays, latency_ms: Array) -> ClusterArrays:
    """Return the cluster with other latencies [nodes]; nan = not known."""
    is_known = ~jnp.isnan(latency_ms)
    readings = cluster.readings._replace(latency_ms=jnp.where(is_known, latency_ms, 0.0), latency_known=is_known)
    return cluster._replace(readings=readings)


def _next(params: SimParams, state: SimState) -> Next:
    """Waiting pods that have not been tried since room came free go first, then whatever is due first.

    A scrape sees what was before anything else of the same moment; then pods leave whose lifetime is over.
    """
    retry_block = jnp.argmin(state.first_untried)
    is_retry = state.first_untried[retry_block] < LATE
    untried = _untried(state.pod_order[retry_block], state.pod_tried[retry_block], state.epoch)
    retry_pod = retry_block * BLOCK + jnp.argmin(untried)
    depart_block = jnp.argmin(state.first_end)
    depart_time = state.first_end[depart_block]
    depart_pod = depart_block * BLOCK + jnp.argmin(state.pod_end[depart_block])
    cursor = jnp.minimum(state.cursor, params.event_time.shape[0] - 1)
    is_left = state.cursor < params.event_time.shape[0]
    event_time = jnp.where(is_left, params.event_time[cursor], jnp.inf)
    is_depart = depart_time <= event_time
    due = jnp.where(is_depart, depart_time, event_time)
    scrape_time = _next_scrape(params, state)
    is_scrape = (scrape_time <= due) & jnp.isfinite(scrape_time)
    due = jnp.where(is_scrape, scrape_time, due)
    is_idle = ~is_retry & jnp.isinf(due)
    kind = jnp.where(is_depart, Kind.DEPART, params.event_kind[cursor])
    kind = jnp.where(is_retry, Kind.RETRY, jnp.where(is_scrape, Kind.SCRAPE, kind))
    pod = jnp.where(is_retry, retry_pod, jnp.where(is_depart, depart_pod, params.event_pod[cursor]))
    return Next(
        kind=jnp.where(is_idle, Kind.IDLE, kind).astype(jnp.int32),
        time=jnp.where(is_retry | is_idle, state.time, due),
        pod=jnp.where(is_idle | (kind == Kind.SCRAPE), 0, pod).astype(jnp.int32),
        node=params.event_node[cursor],
        row=params.event_row[cursor],
    )


def _next_scrape(params: SimParams, state: SimState) -> Array:
    """Return when readings will next change: at the next scrape, if they are behind; else never."""
    interval = jnp.where(params.lag_seconds > 0, params.lag_seconds, 1.0)
    is_same = (state.seen_latency_ms == state.latency_ms) | (
        jnp.isnan(state.seen_latency_ms) & jnp.isnan(state.latency_ms)
    )
    is_behind = (params.lag_seconds > 0) & ~is_same.all()
    return jnp.where(is_behind, (jnp.floor(ratio(state.time, interval)) + 1) * interval, jnp.inf)


def _tick(params: SimParams, state: SimState, event: Next) -> SimState:
    """Move the clock to the event; change latencies and what is seen of them."""
    is_change, is_scrape = event.kind == Kind.LATENCY, event.kind == Kind.SCRAPE
    latency = jnp.where(is_change, params.latency_ms[event.row], state.latency_ms)
    is_own = (event.kind == Kind.RETRY) | (event.kind == Kind.DEPART) | is_scrape | (event.kind == Kind.IDLE)
    state = state._replace(
        time=event.time,
        cursor=state.cursor + ~is_own,
        latency_ms=latency,
        seen_latency_ms=jnp.where(is_scrape | (params.lag_seconds <= 0), latency, state.seen_latency_ms),
    )
    return _new_epoch(state, is_change | is_scrape)


def _settle(
    params: SimParams, state: SimState, event: Next, is_decision: Array, node: Array, devices: Array
) -> SimState:
    """Write down what happened to one pod: it runs on the node, it waits (node -1), or it leaves."""
    pod, is_leaving = event.pod, (event.kind == Kind.DEPART) | (event.kind == Kind.DELETE)
    phase = state.pod_phase[pod]
    was_running = is_leaving & ((phase == RUNNING) | (phase == ASLEEP))
    is_placed = is_decision & (node >= 0)
    is_new = is_decision & (phase == ABSENT)
    target = jnp.where(is_placed, node, jnp.where(was_running, state.pod_node[pod], 0))
    held = jnp.where(is_placed, devices, state.pod_devices[pod])
    cluster = shift(
        params.cluster._replace(state=state.cluster),
        params.pod_class[pod],
        target,
        held,
        is_placed.astype(jnp.int64) - was_running,
    ).state
    after = jnp.where(is_leaving, GONE, jnp.where(is_placed, RUNNING, jnp.where(is_decision, WAITING, phase)))
    state = _new_epoch(state, was_running)
    state = state._replace(
        cluster=cluster._replace(
            last_node=jnp.where(is_placed, target, cluster.last_node).astype(jnp.int32),
            step=cluster.step + is_placed.astype(jnp.uint32),
        ),
        arrivals=state.arrivals + is_new,
        pod_phase=state.pod_phase.at[pod].set(after.astype(jnp.int8)),
        pod_node=state.pod_node.at[pod].set(jnp.where(is_placed, target, state.pod_node[pod]).astype(jnp.int32)),
        pod_devices=state.pod_devices.at[pod].set(jnp.where(is_decision, jnp.where(is_placed, held, 0), held)),
    )
    ends = state.time + params.pod_lifetime[pod]
    return _queue(state, pod, is_decision, is_placed, is_leaving, jnp.where(is_new, state.arrivals - 1, LATE), ends)


def _queue(
    state: SimState, pod: Array, is_decision: Array, is_placed: Array, is_leaving: Array, place: Array, ends: Array
) -> SimState:
    """Keep the queue and the departures, and the block that the pod stands in."""
    block, slot = pod // BLOCK, pod % BLOCK
    mine = jnp.arange(BLOCK) == slot
    end, order, tried = state.pod_end[block], state.pod_order[block], state.pod_tried[block]
    end = jnp.where(mine & is_placed, ends, jnp.where(mine & is_leaving, jnp.inf, end))
    order = jnp.where(mine & (is_placed | is_leaving), LATE, jnp.where(mine & (place < LATE), place, order))
    tried = jnp.where(mine & is_decision, state.epoch, tried)
    return state._replace(
        pod_end=state.pod_end.at[block].set(end),
        pod_order=state.pod_order.at[block].set(order),
        pod_tried=state.pod_tried.at[block].set(tried),
        first_end=state.first_end.at[block].set(end.min()),
        first_waiting=state.first_waiting.at[block].set(order.min()),
        first_untried=state.first_untried.at[block].set(_untried(order, tried, state.epoch).min()),
    )


def _untried(order: Array, tried: Array, epoch: Array) -> Array:
    return jnp.where(tried < epoch, order, LATE)


def _new_epoch(state: SimState, is_new: Array) -> SimState:
    """Begin a new round of tries: room may have come free."""
    return state._replace(
        epoch=state.epoch + is_new, first_untried=jnp.where(is_new, state.first_waiting, state.first_untried)
    )


def _change_node(params: SimParams, state: SimState, event: Next) -> SimState:
    """Apply a failure, a drain or a join.

    A node's own pods (a DaemonSet's) stay with it: they run on while it is drained, and are there when it joins again.
    """
    is_fail, is_drain, is_join = (event.kind == kind for kind in (Kind.FAIL, Kind.DRAIN, Kind.JOIN))
    is_emptied = is_fail | is_drain
    here = jnp.arange(state.is_up.shape[0]) == event.node
    is_own = params.cluster.classes.keeps_on[params.pod_class] == 0
    is_there = (state.pod_phase == RUNNING) & (state.pod_node == event.node)
    evicted = is_there & ~is_own & is_emptied
    phase = jnp.where(evicted, WAITING, jnp.where(is_there & is_own & is_fail, ASLEEP, state.pod_phase))
    wakes = (phase == ASLEEP) & (state.pod_node == event.node) & is_join
    state = state._replace(
        cluster=_without(params, state, event.node, evicted),
        is_up=(state.is_up & ~(here & is_fail)) | (here & is_join),
        is_cordoned=(state.is_cordoned | (here & is_drain)) & ~(here & is_join),
        pod_phase=jnp.where(wakes, RUNNING, phase).astype(jnp.int8),
        pod_node=jnp.where(evicted, -1, state.pod_node),
    )
    return _new_epoch(_requeue(state, evicted), is_emptied | is_join)


def _without(params: SimParams, state: SimState, node: Array, evicted: Array) -> State:
    """Return what runs on the nodes when some pods of one node do not."""
    cluster, classes = state.cluster, params.cluster.classes
    left = jnp.zeros(classes.keeps_on.shape, jnp.int64).at[params.pod_class].add(evicted)
    return cluster._replace(
        requested=cluster.requested.at[node].add(-(left @ classes.request)),
        nonzero_requested=cluster.nonzero_requested.at[node].add(-(left @ classes.nonzero_request)),
        pod_count=cluster.pod_count.at[node].add(-left.sum()),
        keeping=cluster.keeping.at[node].add(-(left @ classes.keeps_on)),
        counts=cluster.counts.at[:, node].add(-(params.cluster.tables.match @ left)),
        gpu_used=cluster.gpu_used.at[node].add(-jnp.where(evicted[:, None], state.pod_devices, 0).sum(axis=0)),
    )


def _requeue(state: SimState, evicted: Array) -> SimState:
    """Put evicted pods behind everybody, in the order of the trace."""
    num_pods, shape = evicted.shape[0], state.pod_end.shape
    out = jnp.zeros(shape[0] * shape[1], bool).at[:num_pods].set(evicted).reshape(shape)
    places = (state.arrivals + jnp.cumsum(out.ravel(), dtype=jnp.int32) - 1).reshape(shape)
    end = jnp.where(out, jnp.inf, state.pod_end)
    order = jnp.where(out, places, state.pod_order)
    return state._replace(
        arrivals=state.arrivals + out.sum(dtype=jnp.int32),
        pod_end=end,
        pod_order=order,
        first_end=end.min(axis=1),
        first_waiting=order.min(axis=1),
    )
