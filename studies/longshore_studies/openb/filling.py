"""Pods that come and go, thousands a second: only the node that changed is looked at again.

The general simulator scores every node for every pod. Policies that look at one node at a time (`policies.heuristics.
by_node`) need less: what they find is kept per class of pods and node, a decision is the best of one row, and a
placement makes one column new. This is what the outside tables are made with, and what policies for them are trained
with; many runs at once by `vmap`. Policies that do not look at single nodes are scored in full.

Classes are by CPU and GPU alone. Memory and the GPU models that a pod may use decide where it may go and nothing else,
so that they are read when the pod comes. No pod is refused while a node can take it, and none comes back.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

import longshore.simulator  # noqa: F401  (switches 64-bit numbers on)
from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays, State, is_on, rows_of
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import shift
from longshore.core.arrays.power import cpu_millis_left, pwr_node_watts
from longshore.policies.base import Policy
from longshore.policies.heuristics.amounts import MEMORY_COLUMN, cpu_millis_wanted
from longshore.policies.heuristics.by_node import ByNode


class Filling(NamedTuple):
    """A cluster and what happens to it. Nodes stand in the order of their names, so that ties go to the first."""

    arrays: ClusterArrays  # classes by CPU and GPU; those that want a share of a GPU first
    allowed: Array  # [model sets, nodes] bool
    pod_class: Array  # [events] int32
    memory: Array  # [events] int64, as the nodes' memory is counted
    models: Array  # [events] int32; row of `allowed`
    pod: Array  # [events] int32; number of the pod, for those that leave again
    is_arrival: Array  # [events] bool


class Filled(NamedTuple):
    """What happened, event by event; the other arrays are changes by the event."""

    node: Array  # [events] int32; -1 = there was no room, or the pod that leaves had found none
    milli: Array  # [events] int32; GPU that is allocated
    on_device: Array  # [events, devices] bool; the GPUs of the node that the pod holds, or leaves
    watts: Array  # [events] float32; by PWR's model, idle nodes left on
    watts_idle_off: Array  # [events] float32; the same with idle nodes switched off
    nodes_on: Array  # [events] int32; nodes that have a pod
    had_room: Array  # [events] bool; some node could have taken the pod


class _Carry(NamedTuple):
    state: State
    memory_left: Array  # [nodes] int64; as in the state, but in one piece
    facts: Array  # [facts, classes, nodes]; -inf = the node cannot take such a pod
    left: Array | None  # [classes of shares, nodes] int32; milli left on the GPU to take, where the rule picks it
    where: Array  # [pods] int32
    devices: Array  # [pods, devices] int32; only kept where pods leave


@partial(jax.jit, static_argnames=("policy", "num_shares", "num_pods"))
def fill_all(policy: Policy, fillings: Filling, num_shares: int, num_pods: int = 0) -> Filled:
    """Play several runs at once: `fillings` [runs, ...], but for what `axes_of` says they share."""
    axes = axes_of(fillings)
    return jax.vmap(lambda one: fill(policy, one, num_shares, num_pods), in_axes=(axes,))(fillings)


def axes_of(fillings: Filling) -> Filling:
    """Say along which axis each part of several runs lies: 0, or None for what is the same in all.

    Classes and kinds are the same: else XLA reads one run's numbers from places far apart, and takes twice the time.
    """
    arrays = fillings.arrays
    of_tables = arrays.tables._replace(**dict.fromkeys(arrays.tables._fields, None))
    of_tables = of_tables._replace(weights=0, typical_share=0, typical_rest=0, typical_pressure=0)
    of_arrays = ClusterArrays._make([0, 0, of_tables, None, 0])  # nodes, readings, tables, classes, state
    return Filling(of_arrays, *[0] * (len(Filling._fields) - 1))


def fill(policy: Policy, filling: Filling, num_shares: int, num_pods: int = 0) -> Filled:
    """Play all events.

    Args:
        policy: where pods go.
        filling: what comes and goes.
        num_shares: classes that want a share of a GPU; they are the first ones.
        num_pods: how many pods there are, where some leave again; 0 = none does.
    """
    arrays = filling.arrays
    state = arrays.state
    num_classes = arrays.classes.request.shape[0]
    every = jnp.arange(arrays.nodes.is_real.shape[0])
    if policy.by_node is None:
        facts, left = jnp.zeros((1, num_classes, 0)), None
    else:
        columns = jax.lax.map(lambda node: _column(policy, _one(arrays, node), num_shares), every, batch_size=64)
        facts, left = jax.tree.map(lambda part: jnp.moveaxis(part, 0, -1), columns)
    carry = _Carry(
        state,
        arrays.nodes.allocatable[:, MEMORY_COLUMN] - state.requested[:, MEMORY_COLUMN],
        facts,
        left,
        jnp.full(num_pods, -1, jnp.int32),
        jnp.zeros((num_pods, state.gpu_used.shape[1]), jnp.int32),
    )

    def step(carry: _Carry, event: tuple[Array, ...]) -> tuple[_Carry, Filled]:
        return _step(policy, filling, num_shares, num_pods, carry, *event)

    events = (filling.pod_class, filling.memory, filling.models, filling.pod, filling.is_arrival)
    return jax.lax.scan(step, carry, events)[1]


def _step(
    policy: Policy,
    filling: Filling,
    num_shares: int,
    num_pods: int,
    carry: _Carry,
    pod_class: Array,
    memory: Array,
    models: Array,
    pod: Array,
    is_arrival: Array,
) -> tuple[_Carry, Filled]:
    arrays = filling.arrays._replace(state=carry.state)
    feasible = (carry.memory_left >= memory) & filling.allowed[models]
    if policy.by_node is None:
        feasible = feasible & fits(arrays, pod_class)
        scores = policy.score(arrays, pod_class, feasible)
    else:
        row = carry.facts[:, pod_class]
        feasible = feasible & (row[0] > -jnp.inf)
        scores = policy.by_node.rank(row, feasible, arrays)
    worth = jnp.where(feasible, scores, -jnp.inf)
    best = worth.max()
    had_room = best > -jnp.inf
    node = jnp.argmax(worth >= best - policy.tie_tolerance).astype(jnp.int32)
    sign = had_room.astype(carry.state.requested.dtype)
    if num_pods:
        node = jnp.where(is_arrival, node, jnp.maximum(carry.where[pod], 0))
        sign = jnp.where(is_arrival, sign, -(carry.where[pod] >= 0).astype(sign.dtype))
    # Behind a barrier, so that the node is read once, before it is written: else XLA copies all nodes at every step.
    before = jax.lax.optimization_barrier(_one(arrays, node))
    devices = _devices(policy, before, pod_class, None if carry.left is None else carry.left[pod_class, node])
    if num_pods:
        devices = jnp.where(is_arrival, devices, carry.devices[pod])
    after = jax.lax.optimization_barrier(_changed(before, pod_class, devices, memory, sign))
    facts, left = carry.facts, carry.left
    if policy.by_node is not None:
        new_facts, new_left = _column(policy, after, num_shares)
        facts = facts.at[:, :, node].set(new_facts)
        left = None if left is None else left.at[:, node].set(new_left)
    placed = is_arrival & had_room
    state = _written(carry.state, after.state, node)._replace(
        step=(carry.state.step + placed).astype(jnp.uint32), last_node=jnp.where(placed, node, carry.state.last_node)
    )
    carry = _Carry(state, carry.memory_left.at[node].add(-sign * memory), facts, left, carry.where, carry.devices)
    if num_pods:
        carry = carry._replace(
            where=carry.where.at[pod].set(jnp.where(placed, node, -1)),
            devices=carry.devices.at[pod].set(devices.astype(jnp.int32)),
        )
    return carry, _outcome(before, after, jnp.where(sign != 0, node, -1), sign * devices, had_room)


def _changed(one: ClusterArrays, pod_class: Array, devices: Array, memory: Array, sign: Array) -> ClusterArrays:
    """Return a node with a pod more (sign 1) or less (-1)."""
    changed = shift(one, pod_class, jnp.int32(0), devices, sign)
    requested = changed.state.requested.at[0, MEMORY_COLUMN].add(sign * memory)
    return changed._replace(state=changed.state._replace(requested=requested))


def _written(state: State, one: State, node: Array) -> State:
    """Put a node's state in the place of what it was."""
    return state._replace(
        requested=state.requested.at[node].set(one.requested[0]),
        nonzero_requested=state.nonzero_requested.at[node].set(one.nonzero_requested[0]),
        pod_count=state.pod_count.at[node].set(one.pod_count[0]),
        keeping=state.keeping.at[node].set(one.keeping[0]),
        counts=state.counts.at[:, node].set(one.counts[:, 0]),
        gpu_used=state.gpu_used.at[node].set(one.gpu_used[0]),
    )


def _outcome(before: ClusterArrays, after: ClusterArrays, node: Array, devices: Array, had_room: Array) -> Filled:
    watts, watts_after = pwr_node_watts(before)[0], pwr_node_watts(after)[0]
    was_on, on = is_on(before)[0], is_on(after)[0]
    return Filled(
        node=node.astype(jnp.int32),
        milli=devices.sum().astype(jnp.int32),
        on_device=devices != 0,
        watts=(watts_after - watts).astype(jnp.float32),
        watts_idle_off=(jnp.where(on, watts_after, 0) - jnp.where(was_on, watts, 0)).astype(jnp.float32),
        nodes_on=on.astype(jnp.int32) - was_on,
        had_room=had_room,
    )


def _one(arrays: ClusterArrays, node: Array) -> ClusterArrays:
    """Return one node as a cluster of its own."""
    index = node[None]
    one = rows_of(arrays, index)
    state = one.state._replace(
        nonzero_requested=arrays.state.nonzero_requested[index], counts=arrays.state.counts[:, index]
    )
    return one._replace(state=state)


def _column(policy: Policy, one: ClusterArrays, num_shares: int) -> tuple[Array, Array | None]:
    """Return what a policy finds on a node for every class [facts, classes], -inf where the node has no room.

    And what is left on the GPU that it would take a share from [classes of shares], where it picks that GPU itself.
    """
    assert policy.by_node is not None
    classes = jnp.arange(one.classes.request.shape[0])
    facts, left = _look(policy.by_node, one, classes, num_shares)
    picks = policy.by_node.picks_device and num_shares > 0
    return jnp.where(fits(one, classes), facts, -jnp.inf), left[:num_shares].astype(jnp.int32) if picks else None


def _look(rule: ByNode, one: ClusterArrays, classes: Array, num_shares: int) -> tuple[Array, Array]:
    """Return what `ByNode.look` does, of many classes on one node at once: facts [facts, classes], device [classes].

    Every device is tried in one go, by as many rows, and only for the first classes, which are those of shares.
    """
    num_devices = one.state.gpu_used.shape[1]
    fullest = gpu.take_fullest(one, classes)
    if not rule.picks_device or num_shares == 0 or num_devices == 0:
        return rule.facts(one, classes, fullest), fullest.left
    left = jnp.repeat(gpu.free_milli(one)[0], num_shares)
    shares = jnp.tile(classes[:num_shares], num_devices)
    milli, count = gpu.wanted(one, shares)
    is_possible = left >= milli
    rows = gpu.Take(
        jnp.concatenate([jnp.where(is_possible, left, milli), fullest.left[num_shares:]]),
        jnp.concatenate([milli, fullest.milli[num_shares:]]),
        jnp.concatenate([count, fullest.count[num_shares:]]),
    )
    facts = rule.facts(one, jnp.concatenate([shares, classes[num_shares:]]), rows)
    tried = facts[:, : left.shape[0]].reshape(-1, num_devices, num_shares)
    worth = jnp.where(is_possible.reshape(num_devices, num_shares), tried[0], -jnp.inf)
    device = jnp.argmax(worth, axis=0)
    best = jnp.take_along_axis(tried, device[None, None], axis=1)[:, 0]
    left = jnp.concatenate([gpu.free_milli(one)[0, device], fullest.left[num_shares:]])
    return jnp.concatenate([best, facts[:, shares.shape[0] :]], axis=1), left


def _devices(policy: Policy, one: ClusterArrays, pod_class: Array, left_for_share: Array | None) -> Array:
    """Return the milli that a pod takes from every device of a node [devices]."""
    if left_for_share is None:
        return policy.devices(one, pod_class)[0]
    classes = pod_class[None]
    take = gpu.take_fullest(one, classes)
    is_share = (take.milli > 0) & (take.milli < gpu.WHOLE_GPU_MILLI)
    return gpu.taken(one, classes, take._replace(left=jnp.where(is_share, left_for_share, take.left)))[0]


def fits(arrays: ClusterArrays, pod_class: Array) -> Array:
    """Say where CPU and GPUs suffice."""
    has_cpu = cpu_millis_left(arrays) >= cpu_millis_wanted(arrays, pod_class)
    return has_cpu & gpu.fits(arrays, pod_class) & arrays.nodes.is_real
