"""A few placements on tiny built-in clusters: what a user's own term is tried on before it is used.

They cover what a term can meet: an empty cluster and a loaded one, padding rows, readings known and unknown, latency
limits, GPU shares. The arrays are read-only, so that a term which changes its input fails at once.
"""

from functools import lru_cache

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded, encode
from longshore.core.arrays.gpu import best_fit
from longshore.core.arrays.place import place
from longshore.core.words.node import Node, NodePower, NodeReadings
from longshore.core.words.pod import Container, GpuRequest, Pod, PodSpec, ResourceNanos
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from longshore.core.words.snapshot import Snapshot
from longshore.objectives.base import Transition

_GIBIBYTE = 1 << 30


@lru_cache(maxsize=1)
def sample_transitions() -> tuple[Transition, ...]:
    """Return the sample placements as NumPy arrays."""
    waiting = encode(Snapshot(nodes=_nodes(), pods=_pods(are_bound=False)))
    loaded = encode(Snapshot(nodes=_nodes(), pods=_pods(are_bound=True)), padded_nodes=5)
    alone = encode(Snapshot(nodes=_nodes()[:1], pods=_pods(are_bound=False)))
    return (
        sample_transition(waiting, "web", "a"),
        sample_transition(loaded, "web", "b"),
        sample_transition(loaded, "batch", "c"),
        sample_transition(loaded, "share", "b"),
        sample_transition(alone, "web", "a"),
    )


def sample_transition(encoded: Encoded, pod_name: str, node_name: str) -> Transition:
    """Place one pod of a snapshot on a node of it; the pod takes its GPU share by best fit."""
    pod = next(pod for pod in encoded.snapshot.pods if pod.name == pod_name)
    pod_class, node = np.int64(encoded.class_of(pod)), np.int64(encoded.node_index[node_name])
    before = encoded.arrays
    after = place(before, pod_class, node, best_fit(before, pod_class)[node])
    return Transition(_read_only(before), _read_only(after), pod_class, node)


def _nodes() -> tuple[Node, ...]:
    return (
        Node("a", _amounts(4000, 8, 100), readings=NodeReadings(latency_ms=12.0, connections=7.0, cpu_ratio=0.3)),
        Node(
            "b",
            _amounts(16000, 64, 500),
            gpu_count=2,
            gpu_model="T4",
            readings=NodeReadings(latency_ms=45.0, connections=2.0),
            power=NodePower((90.0, 160.0, 210.0)),
            cost_per_hour=2.5,
            carbon_grams_per_kwh=40.0,
        ),
        Node("c", _amounts(8000, 16, 0), gpu_count=1, gpu_model="A100"),
    )


def _amounts(cpu_millis: int, memory_gibibytes: int, disk_gibibytes: int) -> ResourceNanos:
    return (
        (CPU, cpu_millis * NANOS_PER_MILLI),
        (EPHEMERAL_STORAGE, disk_gibibytes * _GIBIBYTE * NANOS_PER_UNIT),
        (MEMORY, memory_gibibytes * _GIBIBYTE * NANOS_PER_UNIT),
        (PODS, 110 * NANOS_PER_UNIT),
    )


def _pods(are_bound: bool) -> tuple[Pod, ...]:
    web = _spec(500, 1, latency_soft_ms=20.0, latency_hard_ms=50.0)
    batch, share = _spec(2000, 4), _spec(1000, 2, gpu=GpuRequest(1, 300))
    running = (
        Pod("web-1", web, bound_to="a"),
        Pod("batch-1", batch, bound_to="b"),
        Pod("share-1", share, bound_to="b"),
    )
    return (Pod("web", web), Pod("batch", batch), Pod("share", share), *(running if are_bound else ()))


def _spec(
    cpu_millis: int,
    memory_gibibytes: int,
    gpu: GpuRequest | None = None,
    latency_soft_ms: float | None = None,
    latency_hard_ms: float | None = None,
) -> PodSpec:
    requests = ((CPU, cpu_millis * NANOS_PER_MILLI), (MEMORY, memory_gibibytes * _GIBIBYTE * NANOS_PER_UNIT))
    return PodSpec(
        containers=(Container(requests=requests),),
        gpu=gpu,
        latency_soft_ms=latency_soft_ms,
        latency_hard_ms=latency_hard_ms,
    )


def _read_only(arrays: ClusterArrays) -> ClusterArrays:
    for group in (arrays.nodes, arrays.readings, arrays.tables, arrays.classes, arrays.state):
        for array in group:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return arrays
