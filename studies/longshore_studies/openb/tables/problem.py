"""The openb trace as a cluster and pods that come one after another, ready to be played."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays, rows_of
from longshore.core.arrays.encode import encode
from longshore.core.arrays.ops import Array
from longshore.core.arrays.typical import most_frequent
from longshore.core.words.node import Node
from longshore.core.words.pod import Container, GpuRequest, Pod, PodSpec
from longshore.core.words.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT
from longshore.core.words.resources import CPU, MEMORY, PODS
from longshore.core.words.snapshot import Snapshot
from longshore_studies.openb.filling import Filling, axes_of
from longshore_studies.openb.tables.arrivals import PUBLISHED_RATIO, arrivals
from longshore_studies.openb.tables.openb import GPU_MILLI, Nodes, Pods

_MIB = 1 << 20
_ANY_NUMBER_OF_PODS = 1 << 40
"""The trace's nodes have no limit on pods."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A cluster and a pod list; one order of arrivals of it is one run."""

    nodes: Nodes
    pods: Pods
    beside: tuple[Pods, ...] = ()
    """Other lists, whose pods get classes too: problems with the same classes are played by one compiled program."""

    @cached_property
    def shapes(self) -> list[tuple[int, int, int]]:
        """The distinct (milli of a GPU, GPUs, milli-CPU) of the pods: shares of a GPU first."""
        found: set[tuple[int, int, int]] = set()
        for pods in (self.pods, *self.beside):
            found.update(zip(pods.gpu_milli.tolist(), pods.gpu_count.tolist(), pods.cpu_milli.tolist(), strict=True))
        return sorted(found, key=lambda one: (not _is_share(one[0]), one))

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
    return Node(name, allocatable=have, capacity=have, gpu_count=int(nodes.gpu_count[row]), gpu_model=nodes.model[row])


def _spec(shape: tuple[int, int, int]) -> PodSpec:
    milli, count, cpu = shape
    container = Container(requests=((CPU, cpu * NANOS_PER_MILLI),))
    return PodSpec(containers=(container,), gpu=GpuRequest(count, milli) if count else None)


def _reordered(arrays: ClusterArrays, order: Array, seed: int) -> ClusterArrays:
    """Put the nodes of an empty cluster in another order, in which they also come by name."""
    rows = rows_of(arrays, order)
    nodes = rows.nodes._replace(name_rank=np.arange(len(order), dtype=np.int32))
    return rows._replace(nodes=nodes, state=rows.state._replace(seed=np.uint32(seed)))


class Sizes(NamedTuple):
    """How long the parts of a run are whose length differs from list to list."""

    events: int
    kinds: int
    model_sets: int

    @staticmethod
    def of(runs: Sequence[Filling]) -> "Sizes":
        """Return the sizes that all of the runs fit into."""
        return Sizes(
            max(len(run.pod_class) for run in runs),
            max(len(run.arrays.tables.typical_cpu_millis) for run in runs),
            max(len(run.allowed) for run in runs),
        )


def side_by_side(
    runs: Sequence[Filling], sizes: Sizes | None = None, axes: Callable[[Filling], Any] = axes_of
) -> Filling:
    """Stack runs of one problem [runs, ...]; shorter ones are filled up with pods that may go nowhere.

    Args:
        runs: of one problem.
        sizes: what to fill up to; runs of several problems with the same classes and sizes share a compiled program.
        axes: says which parts are the same in all runs (None) and stand there once.
    """
    padded = [_padded(run, sizes or Sizes.of(runs)) for run in runs]
    stacked: Filling = jax.tree.map(
        lambda axis, *parts: jax.tree.map(lambda *leaves: leaves[0] if axis is None else np.stack(leaves), *parts),
        axes(padded[0]),
        *padded,
        is_leaf=is_axis,
    )
    return stacked


def is_axis(part: object) -> bool:
    """Tell an axis, or None for no axis, from what is made of them."""
    return part is None or isinstance(part, int)


def _padded(run: Filling, sizes: Sizes) -> Filling:
    missing = sizes.events - len(run.pod_class)
    # One row more than needed: no node is allowed there, so that it is where pods go that are no pods.
    nowhere = np.zeros((sizes.model_sets + 1 - len(run.allowed), run.allowed.shape[1]), bool)
    tables = run.arrays.tables
    kinds = (0, sizes.kinds - len(tables.typical_cpu_millis))
    tables = tables._replace(
        typical_cpu_millis=np.pad(tables.typical_cpu_millis, kinds),
        typical_gpu_milli=np.pad(tables.typical_gpu_milli, kinds),
        typical_gpu_count=np.pad(tables.typical_gpu_count, kinds),
        typical_share=np.pad(tables.typical_share, (kinds, (0, 0))),
    )
    return run._replace(
        arrays=run.arrays._replace(tables=tables),
        allowed=np.concatenate([run.allowed, nowhere]),
        pod_class=np.pad(run.pod_class, (0, missing)),
        memory=np.pad(run.memory, (0, missing)),
        models=np.pad(run.models, (0, missing), constant_values=sizes.model_sets),
        pod=np.pad(run.pod, (0, missing)),
        is_arrival=np.pad(run.is_arrival, (0, missing), constant_values=True),
    )
