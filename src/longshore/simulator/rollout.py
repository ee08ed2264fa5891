"""Playing a whole trace: a scan of steps, with what was measured after each."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from longshore.core.arrays.cluster_arrays import ClusterArrays, is_on
from longshore.core.arrays.ops import Array
from longshore.core.arrays.power import cluster_cost, cluster_watts
from longshore.objectives.base import Objective
from longshore.simulator.params import SimParams
from longshore.simulator.state import RUNNING, WAITING, SimState, StepTaken
from longshore.simulator.transition import Acted, Program, step


class Measured(NamedTuple):
    """The cluster after a step, in numbers; each holds until the next step's time."""

    outcome: StepTaken
    reward: Array  # [] float64; 0 unless a pod was placed
    latency_ms: Array  # [] float64; true latency of the node that the pod was placed on, nan otherwise
    is_beyond_limit: Array  # [] bool; placed beyond its hard latency limit, by the true latency
    is_beyond_soft: Array  # [] bool; placed beyond its soft one
    switched_on: Array  # [] bool; a pod was placed, and its node is on by that
    active_nodes: Array  # [] int32; nodes that are on
    cpu_variance: Array  # [] float64; of requested / allocatable over nodes that are up
    watts_idle_on: Array  # [] float64
    watts_idle_off: Array  # [] float64
    cost_per_hour: Array  # [] float64; of the nodes that are on
    running: Array  # [] int32 pods
    waiting: Array  # [] int32 pods
    pods_per_node: Array  # [nodes] int32


def rollout(
    program: Program,
    objective: Objective | None,
    params: SimParams,
    state: SimState,
    length: int,
    policy: Array | int = 0,
) -> tuple[SimState, Measured]:
    """Play `length` steps under one of the program's policies; the measurements are stacked along the first axis."""

    def body(before: SimState, _: None) -> tuple[SimState, Measured]:
        acted = step(program, params, before, policy)
        return acted.state, measure(objective, acted)

    return jax.lax.scan(body, state, None, length=length)


def measure(objective: Objective | None, acted: Acted) -> Measured:
    """Measure the cluster after a step."""
    state, outcome, (_, cluster, pod_class, node) = acted
    is_placed = outcome.node >= 0
    latency = jnp.where(is_placed, state.latency_ms[node], jnp.nan)
    return Measured(
        outcome=outcome,
        reward=jnp.zeros(()) if objective is None else acted.earned(objective.reward),
        latency_ms=latency,
        is_beyond_limit=is_placed & (latency > cluster.classes.latency_hard_ms[pod_class]),
        is_beyond_soft=is_placed & (latency > cluster.classes.latency_soft_ms[pod_class]),
        switched_on=is_placed & (cluster.classes.keeps_on[pod_class] > 0) & (cluster.state.keeping[node] == 1),
        active_nodes=is_on(cluster).sum().astype(jnp.int32),
        cpu_variance=cpu_variance(cluster, state.is_up),
        watts_idle_on=cluster_watts(cluster, switch_off_idle=False),
        watts_idle_off=cluster_watts(cluster, switch_off_idle=True),
        cost_per_hour=cluster_cost(cluster),
        running=(state.pod_phase == RUNNING).sum().astype(jnp.int32),
        waiting=(state.pod_phase == WAITING).sum().astype(jnp.int32),
        pods_per_node=jnp.where(state.is_up, state.cluster.pod_count, 0).astype(jnp.int32),
    )


def cpu_variance(cluster: ClusterArrays, counted: Array) -> Array:
    """Return the variance of requested / allocatable CPU over the nodes that count."""
    values = cluster.state.requested[:, 0] / jnp.maximum(cluster.nodes.allocatable[:, 0], 1)
    number = jnp.maximum(counted.sum(), 1)
    mean = jnp.where(counted, values, 0.0).sum() / number
    return jnp.where(counted, (values - mean) ** 2, 0.0).sum() / number
