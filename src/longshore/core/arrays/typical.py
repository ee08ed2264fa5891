"""Which kinds of pods are typical: the reference that fragmentation is measured against.

FGD (USENIX ATC'23): distinct (CPU, GPU milli, GPU count, models), the most frequent first until they cover 95 % of the
pods, shares scaled to sum to 1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.node import Node
from longshore.core.words.pod import GpuRequest, Pod
from longshore.core.words.resources import CPU, pod_requests
from longshore.core.words.snapshot import TypicalPod

_COVERED_SHARE = 0.95
_SHARE_STEPS = 2.0**36
"""Shares are multiples of 2^-36. Times the milli of `node.MAX_DEVICES` devices they still are whole numbers of such
steps below 2^53: float64 adds them up exactly, in any order. FGD's score cuts a difference of two such sums to an
integer, where one rounding more or less would decide."""


def typical_pods(pods: Iterable[Pod]) -> tuple[TypicalPod, ...]:
    """Find the typical kinds among pods; none where no pod wants a GPU (nothing can be fragmented then)."""
    by_spec = Counter(pod.spec for pod in pods)
    if not any(spec.gpu for spec in by_spec):
        return ()
    kinds: Counter[tuple[int, GpuRequest | None]] = Counter()
    for spec, count in by_spec.items():
        kinds[dict(pod_requests(spec).amounts).get(CPU, 0), spec.gpu] += count
    return most_frequent(kinds)


def most_frequent(kinds: Counter[tuple[int, GpuRequest | None]]) -> tuple[TypicalPod, ...]:
    """Return those of the kinds (milli-CPU, GPU) that cover most pods."""
    ordered = sorted(kinds.items(), key=lambda item: (item[1], *_size(*item[0])), reverse=True)
    total, covered, kept = sum(kinds.values()), 0, []
    for kind, count in ordered:
        kept.append((kind, count))
        covered += count
        if covered >= _COVERED_SHARE * total:
            break
    return tuple(TypicalPod(cpu, gpu, count / covered) for (cpu, gpu), count in kept)


def _size(cpu_millis: int, gpu: GpuRequest | None) -> tuple[int, int, int, str]:
    """Return what decides between equally frequent kinds: the larger is typical, as FGD's simulator has it."""
    return (cpu_millis, gpu.milli, gpu.count, "|".join(gpu.models)) if gpu else (cpu_millis, 0, 0, "")


def typical_tables(pods: Sequence[TypicalPod], nodes: Sequence[Node], width: int) -> dict[str, Array]:
    """Return the tables of `arrays.cluster_arrays.Tables` that are about typical pods, by their names.

    Kinds that differ only in the models they may use are one: on a node of a model, what counts is how many may use it.
    """
    kinds: dict[tuple[int, int, int], int] = {}
    for pod in pods:
        if pod.gpu is not None:
            kinds.setdefault((pod.cpu_millis, pod.gpu.milli, pod.gpu.count), len(kinds))
    by_model = {}
    for model in {node.gpu_model for node in nodes}:
        by_model[model] = column = np.zeros(len(kinds))
        for pod in pods:
            if pod.gpu is not None and (not pod.gpu.models or model in pod.gpu.models):
                column[kinds[pod.cpu_millis, pod.gpu.milli, pod.gpu.count]] += pod.share
    share = np.zeros((len(kinds), width))
    if kinds:
        share[:, : len(nodes)] = np.array([by_model[node.gpu_model] for node in nodes]).T
    share = _exact(share)
    total = _exact(sum(pod.share for pod in pods))
    sizes = np.array(list(kinds), np.int64).reshape(-1, 3)
    pressure = np.zeros(width)
    if asked := _pressure(pods, nodes):
        # Nodes without GPUs are as the mean one: the number is to tell apart only where pods are bound to models.
        pressure[: len(nodes)] = [asked[node.gpu_model] if node.gpu_count else 1.0 for node in nodes]
    return {
        "typical_cpu_millis": sizes[:, 0],
        "typical_gpu_milli": sizes[:, 1],
        "typical_gpu_count": sizes[:, 2],
        "typical_share": share,
        "typical_rest": np.where(np.arange(width) < len(nodes), total - share.sum(axis=0), 0.0),
        "typical_pressure": pressure,
    }


def _pressure(pods: Sequence[TypicalPod], nodes: Sequence[Node]) -> Mapping[str, float]:
    """Return, by GPU model, what is asked of one of its GPUs if pods spread evenly over those that they may use.

    By the mean over all GPUs, so that it is 1 where every pod may use any of them; empty where nobody asks.
    """
    gpus: Counter[str] = Counter()
    for node in nodes:
        gpus[node.gpu_model] += node.gpu_count
    asked = dict.fromkeys(gpus, 0.0)
    total = 0.0
    for pod in pods:
        if pod.gpu is None:
            continue
        usable = [model for model in gpus if not pod.gpu.models or model in pod.gpu.models]
        among = sum(gpus[model] for model in usable)
        if among == 0:  # nobody serves those that ask for models that are not here
            continue
        milli = pod.share * pod.gpu.count * pod.gpu.milli
        total += milli
        for model in usable:
            asked[model] += milli / among
    return {model: one * gpus.total() / total for model, one in asked.items()} if total else {}


def _exact(shares: Array) -> Array:
    return np.round(np.asarray(shares) * _SHARE_STEPS) / _SHARE_STEPS
