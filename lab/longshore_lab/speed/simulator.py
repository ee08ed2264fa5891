"""How fast the simulator plays: steps per second with a DeepSets policy in the loop, the slow twin beside it.

The workload uses every filter and the queue, with about 16 running pods per node. Nothing here needs more than NumPy
and JAX, so that it also runs on a machine that has nothing else.
"""

import random
import time
from itertools import islice
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.ops import Array
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.node import Node, NodeReadings, Taint
from longshore.core.words.pod import (
    AffinityTerm,
    Container,
    HostPort,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    SpreadConstraint,
    Toleration,
)
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.trace import Create, Trace
from longshore.filters import filter_set
from longshore.policies import REGISTRY
from longshore.policies.base import Score
from longshore.simulator.params import Compiled, SimParams, compile_trace
from longshore.simulator.reference import Reference
from longshore.simulator.state import RUNNING, WAITING, SimState
from longshore.simulator.transition import act, initial, look

DEFAULT_SIZES = ((4, 4096), (16, 1024), (64, 256), (1024, 16))
"""(nodes, environments at once) for a CPU: about as many rows in all at every size."""
WIDTH = 32
_RUNNING_PER_NODE = 16
_DISTINCT_TRACES = 8
_STEPS = 100
_REPEATS = 3
_TWIN_SECONDS = 2.0
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_FILTERS = filter_set("upstream+latency")


class Cell(NamedTuple):
    """One row of the table."""

    nodes: int
    envs: int
    policy: str
    steps_per_second: float
    reference_steps_per_second: float
    running_per_node: float
    waiting: float
    first_result_seconds: float


def measure(num_nodes: int, num_envs: int, *, pods_per_node: int = _RUNNING_PER_NODE) -> Cell:
    """Play many environments of one size and time it once they are full."""
    traces = [speed_trace(num_nodes, seed, pods_per_node) for seed in range(min(_DISTINCT_TRACES, num_envs))]
    compiled = [compile_trace(trace) for trace in traces]
    params = _spread_out([one.params for one in compiled], num_envs)
    started = time.perf_counter()
    states, kinds = _rollout(params, jax.vmap(initial, in_axes=(_AXES,))(params))
    jax.block_until_ready(kinds)
    first = time.perf_counter() - started
    for _ in range(2 * pods_per_node * num_nodes // _STEPS):
        states, kinds = _rollout(params, states)
    jax.block_until_ready(kinds)
    started = time.perf_counter()
    for _ in range(_REPEATS):
        states, kinds = _rollout(params, states)
    jax.block_until_ready(kinds)
    speed = _REPEATS * _STEPS * num_envs / (time.perf_counter() - started)
    running = float((states.pod_phase == RUNNING).sum()) / num_envs / num_nodes
    waiting = float((states.pod_phase == WAITING).sum()) / num_envs
    return Cell(num_nodes, num_envs, f"deepsets-{WIDTH}", speed, _twin_speed(compiled[0]), running, waiting, first)


# The environments share one cluster and differ in their pods, as they do in training.
_AXES = SimParams._make(None if field in ("cluster", "lag_seconds") else 0 for field in SimParams._fields)


@jax.jit
def _rollout(params: SimParams, states: SimState) -> tuple[SimState, Array]:
    network = _deepsets()

    def one(params: SimParams, state: SimState) -> tuple[SimState, Array]:
        def body(state: SimState, _: None) -> tuple[SimState, Array]:
            state, seen = look(_FILTERS, params, state)
            # The best score alone: what is measured is the simulator, and the yardstick breaks no ties either.
            scores = network(seen.cluster, seen.pod_class, seen.feasible)
            node = jnp.argmax(jnp.where(seen.feasible, scores, -jnp.inf))
            devices = jnp.zeros(seen.cluster.state.gpu_used.shape[1], jnp.int64)
            acted = act(params, state, seen, node, devices, has_node_events=False)
            return acted.state, acted.taken.kind

        return jax.lax.scan(body, state, None, length=_STEPS)

    played: tuple[SimState, Array] = jax.vmap(one, in_axes=(_AXES, 0))(params, states)
    return played


def _deepsets() -> Score:
    """Per-node rows, one hidden layer, max-pooling over nodes, one score per node: the yardstick's network."""
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    shapes = ((9, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, 1))
    weights = [0.2 * jax.random.normal(key, shape, jnp.float32) for key, shape in zip(keys, shapes, strict=True)]

    def score(cluster: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
        rows = _rows(cluster, pod_class, feasible)
        hidden = jax.nn.relu(rows @ weights[0])
        pooled = hidden.max(axis=0, keepdims=True)
        return (jax.nn.relu(hidden @ weights[1] - pooled @ weights[2]) @ weights[3])[:, 0]

    return score


def _rows(cluster: ClusterArrays, pod_class: Array, feasible: Array) -> Array:
    allocatable = jnp.maximum(cluster.nodes.allocatable[:, :2], 1).astype(jnp.float32)
    used = cluster.state.requested[:, :2].astype(jnp.float32) / allocatable
    asked = cluster.classes.request[pod_class, :2].astype(jnp.float32) / allocatable
    others = (cluster.readings.latency_ms / 50, cluster.state.pod_count / 110, feasible)
    return jnp.concatenate([used, used + asked, asked, *(x.astype(jnp.float32)[:, None] for x in others)], axis=1)


def _spread_out(params: list[SimParams], num_envs: int) -> SimParams:
    """Repeat the distinct traces over all environments; the cluster stays one."""
    chosen = np.arange(num_envs) % len(params)
    columns = []
    for axis, leaves in zip(_AXES, zip(*params, strict=True), strict=True):
        columns.append(jax.tree.map(jnp.asarray, leaves[0]) if axis is None else jnp.asarray(np.stack(leaves)[chosen]))
    return SimParams._make(columns)


def _twin_speed(compiled: Compiled) -> float:
    steps, started = 0, time.perf_counter()
    for _ in islice(Reference(compiled, REGISTRY.load("kube-default"), _FILTERS).play(), 20_000):
        steps += 1
        if time.perf_counter() - started > _TWIN_SECONDS:
            break
    return steps / (time.perf_counter() - started)


def speed_trace(num_nodes: int, seed: int, pods_per_node: int = _RUNNING_PER_NODE) -> Trace:
    """Make a stream of pods of ten classes, each with another constraint, that fills the nodes and keeps a queue."""
    rng = random.Random(seed)
    specs = _specs()
    lifetime = pods_per_node * num_nodes * 1.3
    now, events = 0.0, []
    for number in range(3 * pods_per_node * num_nodes + 4 * _STEPS):
        now = round(now + rng.expovariate(1.0), 3)
        # In turn and not at random: every trace then has the same classes in the same order, and one set of tables.
        spec = specs[number] if number < len(specs) else rng.choice(specs)
        events.append(Create(now, Pod(f"pod-{number}", spec), round(rng.expovariate(1 / lifetime), 3)))
    return Trace(tuple(_node(number) for number in range(num_nodes)), tuple(events))


def _node(number: int) -> Node:
    labels = {_HOST: f"node-{number}", _ZONE: f"zone-{number % 3}", "disk": "ssd" if number % 2 else "hdd"}
    amounts = {"cpu": 8 * NANOS_PER_UNIT, "memory": (16 << 30) * NANOS_PER_UNIT, "pods": 110 * NANOS_PER_UNIT}
    return Node(
        f"node-{number:05d}",
        allocatable=tuple(sorted(amounts.items())),
        labels=tuple(sorted(labels.items())),
        taints=(Taint("dedicated"),) if number % 8 == 7 else (),
        readings=NodeReadings(latency_ms=10.0 + 8 * (number % 4)),
    )


def _specs() -> list[PodSpec]:
    zone_ssd = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
    return [
        _spec("plain", 250),
        _spec("large", 900),
        _spec("tolerant", 100, tolerations=(Toleration("dedicated", "Exists"),)),
        _spec("picky", 250, node_affinity=(zone_ssd,)),
        _spec("even", 250, spread=(SpreadConstraint(3, _ZONE, True, _selector("even")),)),
        _spec("soft", 250, spread=(SpreadConstraint(1, _HOST, False, _selector("soft")),)),
        _spec("lonely", 250, anti_affinity=(AffinityTerm(_HOST, _selector("lonely")),)),
        _spec("social", 250, affinity=(AffinityTerm(_ZONE, _selector("social")),)),
        _spec("near", 250, latency_soft_ms=20.0, latency_hard_ms=30.0),
        _spec("port", 250, ports=(HostPort(8080),)),
    ]


def _spec(app: str, cpu_millis: int, ports: tuple[HostPort, ...] = (), **fields: object) -> PodSpec:
    requests = (("cpu", cpu_millis * NANOS_PER_MILLI), ("memory", (256 << 20) * NANOS_PER_UNIT))
    return PodSpec(labels=(("app", app),), containers=(Container(requests=requests, ports=ports),), **fields)  # type: ignore[arg-type]


def _selector(app: str) -> Selector:
    return Selector((Requirement("app", "In", (app,)),))


def device_name() -> str:
    """Name what JAX runs on."""
    device = jax.devices()[0]
    return f"{device.platform}: {device.device_kind}"


def sizes_for_device() -> tuple[tuple[int, int], ...]:
    """Return sizes that fill the device."""
    factor = 1 if jax.default_backend() == "cpu" else 32
    return tuple((nodes, envs * factor) for nodes, envs in DEFAULT_SIZES)
