"""Playing whole traces without exploring, with the tensors as data: one compiled program judges every policy of a kind.

This is how training selects and how populations compete; what a bundle is worth in the end is said by `evaluation`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore.core.arrays import ClusterArrays
from longshore.core.choose import choose
from longshore.core.forward import SCORE, Op, Tensors, forward
from longshore.core.ops import Array
from longshore.objectives.base import Transition
from longshore.policies.inputs import policy_inputs
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import SimState
from longshore.simulator.transition import act, initial, look, with_latency
from longshore.training.experience import Task
from longshore.training.rewards import term_rewards

# A policy that defers for ever would otherwise never come to an end: four times the events that a trace has at most.
_MOST_STEPS_PER_POD = 16


class Judged(NamedTuple):
    """How one trace went."""

    terms: Array  # [terms] float64; sum of the rewards of each term, not weighed
    cost: Array  # [] float64; sum of what the limit's breaches cost
    placed: Array  # [] int32
    decided: Array  # [] int32
    created: Array  # [] int32; pods that came
    low: Array  # [features] float32; the least that was seen of each feature, over real nodes
    high: Array  # [features] float32


class Greedy(NamedTuple):
    """A policy as it is without exploring, its tensors as data."""

    task: Task
    ops: Sequence[Op]
    """Those that the scores depend on."""
    tensors: Tensors
    preference: Array  # [terms] float32; the dial's setting

    def decide(self, cluster: ClusterArrays, pod_class: Array, feasible: Array) -> tuple[Array, Array, Array]:
        """Return what was seen [nodes, features], the node (-1 = none) and the milli of each GPU [devices]."""
        task = self.task
        inputs = policy_inputs(cluster, pod_class, feasible, task.features, task.prior, self.preference)
        scores = forward(self.ops, self.tensors, inputs)[SCORE]
        node = choose(cluster, scores, feasible, has_random_ties=task.has_random_ties, may_defer=task.may_defer)
        return inputs.rows, node, task.devices(cluster, pod_class)[jnp.maximum(node, 0)]


def judge(task: Task, ops: Sequence[Op], tensors: Tensors, params: SimParams, preference: Array) -> Judged:
    """Play one trace to its end; `ops` are those that the scores depend on."""
    num_pods, num_features = params.pod_class.shape[0], len(task.features)
    most = _MOST_STEPS_PER_POD * num_pods + 4 * params.event_time.shape[0]
    start = Judged(
        jnp.zeros(len(task.objective.terms), jnp.float64),
        jnp.zeros((), jnp.float64),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.full(num_features, jnp.inf, jnp.float32),
        jnp.full(num_features, -jnp.inf, jnp.float32),
    )

    def is_going(carry: tuple[SimState, Judged, Array, Array]) -> Array:
        _, _, is_over, number = carry
        return ~is_over & (number < most)

    def body(carry: tuple[SimState, Judged, Array, Array]) -> tuple[SimState, Judged, Array, Array]:
        state, so_far, _, number = carry
        state, seen = look(task.filters, params, state)
        policy = Greedy(task, ops, tensors, preference)
        rows, node, devices = policy.decide(seen.cluster, seen.pod_class, seen.feasible)
        target = jnp.maximum(node, 0)
        after, outcome = act(params, state, seen, node, devices, has_node_events=task.has_node_events)
        before = with_latency(seen.cluster, state.latency_ms)
        step = Transition(before, before._replace(state=after.cluster), seen.pod_class, target)
        is_placed = outcome.node >= 0
        is_over = (seen.event.kind == Kind.IDLE) | (is_placed & task.objective.ends_episode(step))
        counted = (seen.cluster.nodes.is_real & seen.is_decision)[:, None]
        judged = Judged(
            so_far.terms + jnp.where(is_placed, term_rewards(task.objective, step), 0.0),
            so_far.cost + jnp.where(is_placed, task.limit.cost(state.latency_ms[target]), 0.0),
            so_far.placed + is_placed,
            so_far.decided + seen.is_decision,
            so_far.created + (seen.event.kind == Kind.CREATE),
            jnp.minimum(so_far.low, jnp.where(counted, rows, jnp.inf).min(axis=0)),
            jnp.maximum(so_far.high, jnp.where(counted, rows, -jnp.inf).max(axis=0)),
        )
        return after, judged, is_over, number + 1

    carry = (initial(params), start, jnp.zeros((), bool), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(is_going, body, carry)[1]


def judge_all(task: Task, ops: Sequence[Op], tensors: Tensors, params: SimParams, preference: Array) -> Judged:
    """Play all traces: params [traces, ...] -> [traces, ...]."""

    def one(params: SimParams) -> Judged:
        return judge(task, ops, tensors, params, preference)

    return jax.vmap(one)(params)
