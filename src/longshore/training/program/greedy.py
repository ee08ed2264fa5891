"""Playing whole traces without exploring, with the tensors as data: one compiled program judges every policy of a kind.

This is how training selects and how populations compete; what a bundle is worth in the end is said by `evaluation`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import SCORE, Inputs, Op, Tensors, forward
from longshore.policies.base import Policy, choose_node
from longshore.policies.inputs import policy_inputs
from longshore.simulator.params import Kind, SimParams
from longshore.simulator.state import SimState
from longshore.simulator.transition import act, initial, look
from longshore.training.program.compiling import mapped
from longshore.training.program.experience import Task, gain

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


def greedy_policy(task: Task, ops: Sequence[Op], tensors: Tensors, preference: Array) -> Policy:
    """Return a policy as it is without exploring; its tensors are data, so that one program serves many.

    Args:
        task: what it was trained for.
        ops: those that the scores depend on.
        tensors: of the policy.
        preference: the dial's setting [terms].
    """

    def score(cluster: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        inputs = policy_inputs(cluster, pod_class, feasible, task.features, task.prior, preference)
        return forward(ops, tensors, inputs)[SCORE]

    return task.policy(score)


class _Course(NamedTuple):
    """Where a trace stands."""

    state: SimState
    judged: Judged
    is_over: Array  # [] bool


Over = tuple[int | None, int | None, int | None]
"""A dimension to judge over: its axis in tensors, traces and settings of the dial; None = the same for all of it."""
POLICIES: Over = (0, None, None)
POLICIES_AND_TRACES: Over = (0, 0, None)
SETTINGS: Over = (None, None, 0)
TRACES: Over = (None, 0, None)


def judge_all(
    task: Task,
    ops: Sequence[Op],
    tensors: Tensors,
    params: SimParams,
    preference: Array,
    over: Sequence[Over] = (TRACES,),
) -> Judged:
    """Play traces to their ends; results have the dimensions of `over`, the outermost first.

    One loop goes on until the last trace is over, and what is inside it is mapped. A map of loops would copy every
    state at every step, and be traced several times for each dimension.

    Args:
        task: what is judged.
        ops: those that the scores depend on.
        tensors: of the policy.
        params: the trace.
        preference: the dial's setting [terms].
        over: the dimensions that tensors, params and preference have beside their own.
    """

    def begin(_tensors: Tensors, params: SimParams, _preference: Array) -> _Course:
        return _begin(task, params)

    def go_on(tensors: Tensors, params: SimParams, preference: Array, course: _Course) -> _Course:
        return _go_on(task, partial(forward, ops, tensors), params, preference, course)

    for axes in reversed(over):
        begin, go_on = mapped(begin, axes), mapped(go_on, (*axes, 0))
    most = _MOST_STEPS_PER_POD * params.pod_class.shape[-1] + 4 * params.event_time.shape[-1]

    def is_going(carry: tuple[_Course, Array]) -> Array:
        courses, number = carry
        return ~courses.is_over.all() & (number < most)

    def body(carry: tuple[_Course, Array]) -> tuple[_Course, Array]:
        courses, number = carry
        return go_on(tensors, params, preference, courses), number + 1

    carry = (begin(tensors, params, preference), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(is_going, body, carry)[0].judged


def _begin(task: Task, params: SimParams) -> _Course:
    nothing = Judged(
        jnp.zeros(len(task.objective.terms), jnp.float64),
        jnp.zeros((), jnp.float64),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.full(len(task.features), jnp.inf, jnp.float32),
        jnp.full(len(task.features), -jnp.inf, jnp.float32),
    )
    return _Course(initial(params), nothing, jnp.zeros((), bool))


def _go_on(
    task: Task,
    network: Callable[[Inputs], Mapping[str, Array]],
    params: SimParams,
    preference: Array,
    course: _Course,
) -> _Course:
    """Play one event. A trace that is over may go on, while others are not: nothing counts any more."""
    so_far, counts = course.judged, ~course.is_over
    state, seen = look(task.filters, params, course.state)
    inputs = policy_inputs(seen.cluster, seen.pod_class, seen.feasible, task.features, task.prior, preference)
    scores = network(inputs)[SCORE]
    choice = choose_node(task.policy(), seen.cluster, seen.pod_class, seen.feasible, scores=scores)
    acted = act(params, state, seen, choice.node, choice.devices, has_node_events=task.has_node_events)
    found = gain(task, acted)
    is_decision = counts & seen.is_decision
    counted = (seen.cluster.nodes.is_real & is_decision)[:, None]
    judged = Judged(
        so_far.terms + jnp.where(counts, found.terms, 0.0),
        so_far.cost + jnp.where(counts, found.cost, 0.0),
        so_far.placed + (counts & found.is_placed),
        so_far.decided + is_decision,
        so_far.created + (counts & (seen.event.kind == Kind.CREATE)),
        jnp.minimum(so_far.low, jnp.where(counted, inputs.rows, jnp.inf).min(axis=0)),
        jnp.maximum(so_far.high, jnp.where(counted, inputs.rows, -jnp.inf).max(axis=0)),
    )
    return _Course(acted.state, judged, course.is_over | found.is_over)
