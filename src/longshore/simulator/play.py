"""Playing many traces under many policies in one compiled program, to their end."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from longshore import filters as filter_room
from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError
from longshore.core.words.trace import NodeDrain, NodeFail, NodeJoin, Trace
from longshore.objectives.base import Objective
from longshore.policies.base import Policy
from longshore.simulator.callback import compilable, failing_afterwards
from longshore.simulator.params import Compiled, Kind, SimParams, compile_trace
from longshore.simulator.rollout import Measured, rollout
from longshore.simulator.state import SimState
from longshore.simulator.transition import Program, initial

# Steps per call of the compiled program. Longer wastes idle steps at the end, shorter returns to Python more often.
_CHUNK = 256

Progress = Callable[[int, int], None]
"""(traces finished, traces in all)."""


def compile_traces(traces: Sequence[Trace], *, lag_seconds: float = 0.0, seed: int = 0) -> list[Compiled]:
    """Compile traces to one common shape, so that one program plays them all."""
    if any(not trace.snapshot().pods for trace in traces):
        raise InputError("a trace creates no pod", "a trace needs a node and a pod to play")
    num_pods = max(len(trace.snapshot().pods) for trace in traces)
    num_events = max(len(trace.events) for trace in traces)
    num_nodes = max(len(trace.nodes) for trace in traces)
    compiled = [
        compile_trace(
            trace,
            lag_seconds=lag_seconds,
            seed=seed + number,
            padded_nodes=num_nodes,
            padded_pods=_rounded(num_pods),
            padded_events=_rounded(num_events),
        )
        for number, trace in enumerate(traces)
    ]
    if len({one.params.cluster.nodes.power_curve.shape[1] for one in compiled}) > 1:
        raise InputError(
            "the traces' nodes have power curves with different numbers of points",
            "give the nodes of all traces that are played together curves of one length",
        )
    return compiled


@failing_afterwards()
def play(
    compiled: Sequence[Compiled],
    policies: Sequence[Policy],
    objective: Objective | None = None,
    *,
    filters: tuple[str, ...] = filter_room.UPSTREAM,
    progress: Progress | None = None,
) -> Measured:
    """Play every trace under every policy until nothing is left to happen.

    Returns:
        Measurements as NumPy arrays [policies, traces, steps, ...]; steps of kind IDLE come after a trace's end.
    """
    params = stack([one.params for one in compiled])
    has_node_events = any(isinstance(e, NodeFail | NodeDrain | NodeJoin) for one in compiled for e in one.trace.events)
    asked = tuple(compilable(policy) for policy in policies)
    run = partial(_run, policies=asked, objective=objective, filters=filters, has_node_events=has_node_events)
    number = len(policies)
    state = jax.vmap(initial)(params)
    state = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (number, *leaf.shape)), state)
    parts: list[Measured] = []
    while True:
        state, measured = run(params, state)
        parts.append(jax.tree.map(np.asarray, measured))
        is_idle = parts[-1].outcome.kind[:, :, -1] == Kind.IDLE
        if progress is not None:
            progress(int(is_idle.sum()), int(is_idle.size))
        if is_idle.all():
            break
    played: Measured = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=2), *parts)
    if not np.isfinite(played.reward).all():
        raise InputError("the objective gave a reward that is not a finite number", "check its terms and weights")
    return played


def stack(params: Sequence[SimParams]) -> SimParams:
    """Stack parameters along a new first axis, the smaller tables filled up to the size of the largest."""
    leaves = [jax.tree.leaves(one) for one in params]
    columns = [_stacked(group) for group in zip(*leaves, strict=True)]
    stacked: SimParams = jax.tree.unflatten(jax.tree.structure(params[0]), columns)
    return stacked


def _stacked(group: Sequence[Array]) -> Array:
    """Stack arrays; zeros fill the gaps.

    Zero is padding in every table whose size depends on the pods: query 0 counts nothing, a term with query 0 is none,
    and rows of masks and weights beyond a trace's own are never pointed at.
    """
    shape = np.max([np.shape(leaf) for leaf in group], axis=0).astype(int).tolist()
    stacked = np.zeros((len(group), *shape), np.asarray(group[0]).dtype)
    for number, leaf in enumerate(group):
        corner: tuple[int | slice, ...] = (number, *(slice(size) for size in np.shape(leaf)))
        stacked[corner] = leaf
    # `jnp.asarray` would compile a program for every shape: a second for all tables of a cluster.
    return jax.device_put(stacked)


@partial(jax.jit, static_argnames=("policies", "objective", "filters", "has_node_events"))
def _run(
    params: SimParams,
    states: SimState,
    *,
    policies: tuple[Policy, ...],
    objective: Objective | None,
    filters: tuple[str, ...],
    has_node_events: bool,
) -> tuple[SimState, Measured]:
    """Play a chunk of steps: `states` [policies, traces], `params` [traces]."""
    program = Program(policies, filters, has_node_events)

    def under_policy(argument: tuple[Array, SimState]) -> tuple[SimState, Measured]:
        policy, states = argument
        return jax.vmap(lambda params, state: rollout(program, objective, params, state, _CHUNK, policy))(
            params, states
        )

    # Mapped over policies and not batched, so that only the one that decides is asked.
    played: tuple[SimState, Measured] = jax.lax.map(under_policy, (jnp.arange(len(policies)), states))
    return played


def _rounded(number: int) -> int:
    """Round up to a power of two: few sizes, few compilations."""
    return 1 << max(number - 1, 1).bit_length()
