"""What trained policies are worth on traces that neither training nor selection has seen: every metric of `evaluation`.

Several trainings are played in one compiled program, their tensors as data; a bundle that is compared by its folder is
compiled by itself and gives the same numbers.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from longshore.agents.networks.base import Blueprint
from longshore.core.arrays.ops import Array
from longshore.core.network.forward import needed
from longshore.evaluation.metrics import make_runs, measure_all
from longshore.simulator.params import Compiled, Kind, SimParams
from longshore.simulator.play import stack
from longshore.simulator.rollout import Measured, rollout
from longshore.simulator.state import SimState
from longshore.simulator.transition import Program, initial
from longshore.training.program.experience import Task
from longshore.training.program.greedy import greedy_policy

_CHUNK = 256
# Measurements of one pass over the traces may take this much memory.
_BATCH_BYTES = 512 * 1024**2


def report(
    task: Task,
    blueprint: Blueprint,
    tensors: dict[str, Array],
    compiled: Sequence[Compiled],
    preference: Array | None = None,
) -> dict[str, Array]:
    """Return every metric [trainings, traces]; tensors [trainings, ...]."""
    trainings = next(iter(tensors.values())).shape[0]
    events = max(len(one.trace.events) + 2 * len(one.pod_names) for one in compiled)
    per_trace = trainings * events * (128 + 4 * len(compiled[0].params.is_present))
    size = max(_BATCH_BYTES // per_trace, 1)
    parts = [
        _measured(task, blueprint, tensors, compiled[first : first + size], preference)
        for first in range(0, len(compiled), size)
    ]
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def _measured(
    task: Task,
    blueprint: Blueprint,
    tensors: dict[str, Array],
    compiled: Sequence[Compiled],
    preference: Array | None,
) -> dict[str, Array]:
    params = stack([one.params for one in compiled])
    dial = jnp.zeros(0, jnp.float32) if preference is None else jnp.asarray(preference, jnp.float32)
    ops = needed(blueprint.ops)

    @jax.jit
    @jax.vmap
    def run(tensors: dict[str, Array], states: SimState) -> tuple[SimState, Measured]:
        program = Program((greedy_policy(task, ops, tensors, dial),), task.filters, task.has_node_events)

        def one(params: SimParams, state: SimState) -> tuple[SimState, Measured]:
            return rollout(program, task.objective, params, state, _CHUNK)

        return jax.vmap(one)(params, states)

    trainings = next(iter(tensors.values())).shape[0]
    start = jax.vmap(initial)(params)
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (trainings, *leaf.shape)), start)
    parts: list[Measured] = []
    while not parts or not (parts[-1].outcome.kind[:, :, -1] == Kind.IDLE).all():
        states, measured = run(tensors, states)
        parts.append(jax.tree.map(np.asarray, measured))
    played: Measured = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=2), *parts)
    return measure_all(make_runs(compiled, played))
