"""Rich random clusters for the tests of `core`: the oracle's cases, with GPUs added and pods that wait."""

import random
from dataclasses import replace

import msgspec

from longshore.core.arrays.encode import Encoded
from longshore.core.words.pod import GpuRequest, Pod
from longshore.core.words.snapshot import Snapshot
from longshore_lab.oracle.cases import make_case
from longshore_lab.oracle.compare import encode_case

_GPU_REQUESTS = (GpuRequest(1, 300), GpuRequest(1, 700), GpuRequest(1, 1000), GpuRequest(2, 1000, ("T4",)))


def oracle_cluster(seed: int, index: int = 0) -> tuple[Encoded, int]:
    """Return a random cluster and the class of the pod to place."""
    return encode_case(msgspec.json.encode(make_case(seed, index)))


def rich_snapshot(seed: int) -> Snapshot:
    """Make a cluster with affinities, spreading, ports, volumes and GPUs; its last pod waits."""
    rng = random.Random(seed)
    snapshot = oracle_cluster(seed)[0].snapshot
    nodes = [
        replace(node, gpu_count=rng.choice([0, 1, 4]), gpu_model=rng.choice(["T4", "A100"])) for node in snapshot.nodes
    ]
    pods = [_with_gpu(rng, pod) if rng.random() < 0.3 else pod for pod in snapshot.pods]
    return replace(snapshot, nodes=tuple(nodes), pods=tuple(pods))


def unbound(snapshot: Snapshot) -> Snapshot:
    """Return the same cluster with every pod waiting."""
    return replace(snapshot, pods=tuple(replace(pod, bound_to="") for pod in snapshot.pods))


def _with_gpu(rng: random.Random, pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, gpu=rng.choice(_GPU_REQUESTS)))
