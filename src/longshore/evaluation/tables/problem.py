"""The openb trace as a cluster and pods that come one after another, ready to be played."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np

from longshore.core.arrays import ClusterArrays, rows_of
from longshore.core.encode import encode
from longshore.core.node import Node
from longshore.core.ops import Array
from longshore.core.pod import Container, GpuRequest, Pod, PodSpec
from longshore.core.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.resources import CPU, MEMORY, PODS
from longshore.core.snapshot import Snapshot
from longshore.core.typical import most_frequent
from longshore.evaluation.tables.arrivals import PUBLISHED_RATIO, arrivals
from longshore.evaluation.tables.openb import GPU_MILLI, Nodes, Pods
from longshore.simulator.filling import Filling, axes_of

_MIB = 1 << 20
_ANY_NUMBER_OF_PODS = 1 << 40
"""The trace's nodes have no limit on pods."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A cluster and a pod list; one order of arrivals of it is one run."""

    nodes: Nodes
    pods: Pods

    @cached_property
    def shapes(self) -> list[tuple[int, int, int]]:
        """The distinct (milli of a GPU, GPUs, milli-CPU) of the pods: shares of a GPU first."""
        found = set(zip(self.pods.gpu_milli, self.pods.gpu_count, self.pods.cpu_milli, strict=True))
        return sorted((tuple(map(int, one)) for one in found), key=lambda one: (not _is_share(one[0]), one))

    @cached_property
    def num_shares(self) -> int:
        """How many of the shapes are shares of a GPU."""
        return sum(_is_share(milli) for milli, _, _ in self.shapes)

    @cached_property
    def model_sets(self) -> list[tuple[str, ...]]:
        """The distinct sets of GPU models that pods may use."""
        return sorted(set(self.pods.models))

    @cached_property
    def arrays(self) -> ClusterArrays:
        """The empty cluster, nodes in the order of the file."""
        names = [f"node-{row:06d}" for row in range(len(self.nodes.names))]
        nodes = tuple(_node(name, self.nodes, row) for row, name in enumerate(names))
        pods = tuple(Pod(f"pod-{number:06d}", _spec(shape)) for number, shape in enumerate(self.shapes))
        kinds = Counter(
            (cpu, GpuRequest(count, milli, models) if count else None)
            for cpu, count, milli, models in zip(
                self.pods.cpu_milli.tolist(),
                self.pods.gpu_count.tolist(),
                self.pods.gpu_milli.tolist(),
                self.pods.models,
                strict=True,
            )
        )
        encoded = encode(Snapshot(nodes=nodes, pods=pods, typical_pods=most_frequent(kinds)))
        order = np.array([encoded.class_of(pod) for pod in pods])
        assert (order == np.arange(len(pods))).all()
        return encoded.arrays

    def events(self, order: Array, node_rank: Array, seed: int = 0) -> Filling:
        """Return a run in which the pods of the list arrive in an order, and ties go by the nodes' rank."""
        by_rank = np.argsort(node_rank)
        shape = {one: number for number, one in enumerate(self.shapes)}
        sets = {one: number for number, one in enumerate(self.model_sets)}
        pods = self.pods
        classes = np.array(
            [
                shape[milli, count, cpu]
                for milli, count, cpu in zip(
                    pods.gpu_milli.tolist(), pods.gpu_count.tolist(), pods.cpu_milli.tolist(), strict=True
                )
            ],
            np.int32,
        )
        models = np.array([sets[one] for one in pods.models], np.int32)
        allowed = np.array([[not one or model in one for model in self.nodes.model] for one in self.model_sets])
        return Filling(
            arrays=_reordered(self.arrays, by_rank, seed),
            allowed=allowed[:, by_rank],
            pod_class=classes[order],
            memory=pods.memory_mib[order] * _MIB,
            models=models[order],
            pod=np.arange(len(order), dtype=np.int32),
            is_arrival=np.ones(len(order), bool),
        )

    def run(self, seed: int, ratio: float = PUBLISHED_RATIO) -> tuple[Filling, Array]:
        """Return the run of a seed by the published protocol, and the GPU milli that each pod asks for."""
        drawn = arrivals(self.pods, self.nodes, seed, ratio)
        return self.events(drawn.order, drawn.node_rank, seed), self.pods.total_gpu_milli[drawn.order]


def _is_share(milli: int) -> bool:
    return 0 < milli < GPU_MILLI


def _node(name: str, nodes: Nodes, row: int) -> Node:
    have = (
        (CPU, int(nodes.cpu_milli[row]) * NANOS_PER_MILLI),
        (MEMORY, int(nodes.memory_mib[row]) * _MIB * NANOS_PER_UNIT),
        (PODS, _ANY_NUMBER_OF_PODS * NANOS_PER_UNIT),
    )
    return Node(
        name, allocatable=have, capacity=have, gpu_count=int(nodes.gpu_count[row]), gpu_model=nodes.model[row]
    )


def _spec(shape: tuple[int, int, int]) -> PodSpec:
    milli, count, cpu = shape
    container = Container(requests=((CPU, cpu * NANOS_PER_MILLI),))
    return PodSpec(containers=(container,), gpu=GpuRequest(count, milli) if count else None)


def _reordered(arrays: ClusterArrays, order: Array, seed: int) -> ClusterArrays:
    """Put the nodes of an empty cluster in another order, in which they also come by name."""
    rows = rows_of(arrays, order)
    nodes = rows.nodes._replace(name_rank=np.arange(len(order), dtype=np.int32))
    return rows._replace(nodes=nodes, state=rows.state._replace(seed=np.uint32(seed)))


def side_by_side(runs: Sequence[Filling]) -> Filling:
    """Stack runs of one problem [runs, ...]; shorter ones are filled up with pods that may go nowhere."""
    most = max(len(run.pod_class) for run in runs)
    padded = [_padded(run, most) for run in runs]
    axes = axes_of(padded[0])
    is_shared = jax.tree.leaves(
        jax.tree.map(lambda axis, part: jax.tree.map(lambda _: axis is None, part), axes, padded[0], is_leaf=_is_axis)
    )
    leaves = zip(*[jax.tree.leaves(run) for run in padded], strict=True)
    joined = [parts[0] if shared else np.stack(parts) for shared, parts in zip(is_shared, leaves, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(padded[0]), joined)


def _is_axis(part: object) -> bool:
    return part is None or isinstance(part, int)


def _padded(run: Filling, num_events: int) -> Filling:
    missing = num_events - len(run.pod_class)
    nowhere = np.zeros((1, run.allowed.shape[1]), bool)
    return run._replace(
        allowed=np.concatenate([run.allowed, nowhere]),
        pod_class=np.pad(run.pod_class, (0, missing)),
        memory=np.pad(run.memory, (0, missing)),
        models=np.pad(run.models, (0, missing), constant_values=len(run.allowed)),
        pod=np.pad(run.pod, (0, missing)),
        is_arrival=np.pad(run.is_arrival, (0, missing), constant_values=True),
    )
