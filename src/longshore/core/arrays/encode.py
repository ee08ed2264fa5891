"""From names to arrays: the one place where a `Snapshot` becomes `ClusterArrays`.

Pods with equal specs share a class; every class is compiled once against the nodes and against the other classes, by
the compiler that keeps the arrays of a live cluster up to date (`arrays.compiler`), filled once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.compiler import Compiler
from longshore.core.arrays.population import PodClass
from longshore.core.arrays.static import Parts
from longshore.core.arrays.typical import typical_pods
from longshore.core.words.errors import InputError
from longshore.core.words.node import MAX_DEVICES, Node
from longshore.core.words.objects import Objects
from longshore.core.words.pod import Pod, PodSpec
from longshore.core.words.snapshot import Snapshot


class Source(Protocol):
    """A cluster that changes: its snapshot is put together only when it is asked for (`arrays.live`)."""

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""


@dataclass(frozen=True)
class Encoded:
    """Arrays with the names that belong to their indices."""

    arrays: ClusterArrays
    source: Snapshot | Source
    node_names: tuple[str, ...]
    node_index: Mapping[str, int]
    specs: Sequence[PodSpec]
    class_index: Mapping[PodSpec, int]
    resource_names: tuple[str, ...]
    objects: Objects
    """What constraints refer to; of a live cluster, as it is now."""

    @property
    def snapshot(self) -> Snapshot:
        """The cluster by names; of a live one, as it is now."""
        return self.source if isinstance(self.source, Snapshot) else self.source.snapshot()

    def class_of(self, pod: Pod) -> int:
        """Return the class of a pod of the snapshot."""
        return self.class_index[pod.spec]


def encode(snapshot: Snapshot, parts: Parts = (), *, seed: int = 0, padded_nodes: int | None = None) -> Encoded:
    """Compile a snapshot.

    Args:
        snapshot: the cluster; pods bound to nodes that it does not have are left out.
        parts: of the filters that will be asked (`filters.static_parts`).
        seed: of the random ties and the random policy.
        padded_nodes: rows of the node axis, at least the number of nodes; padding never is feasible.

    Raises:
        InputError: fewer rows than nodes, or a node with more GPU devices than can be counted exactly.
    """
    nodes = snapshot.nodes
    if padded_nodes is not None and padded_nodes < max(len(nodes), 1):
        raise InputError(
            f"got {padded_nodes} padded rows for {len(nodes)} nodes, expected at least {max(len(nodes), 1)}",
            "give `padded_nodes` the number of nodes or more, or leave it out",
        )
    for node in nodes:
        check_devices(node)
    classes, holders = _classes_of(snapshot)
    compiler = Compiler(
        Objects.of(snapshot),
        nodes,
        classes,
        parts,
        width=padded_nodes,
        typical=typical_pods(snapshot.pods) if snapshot.typical_pods is None else snapshot.typical_pods,
        merges_equal=True,
    )
    compiler.compile(classes)
    for name, pods in holders.items():
        compiler.book(compiler.rows[name], pods)
    compiler.set_progress(seed, 0, -1)
    return encoded_by(compiler, snapshot)


def _classes_of(snapshot: Snapshot) -> tuple[list[PodClass], dict[str, list[Pod]]]:
    """Return the classes of the pods that wait or are on known nodes, and by node the pods that hold GPUs."""
    known = {node.name for node in snapshot.nodes}
    classes: dict[PodSpec, PodClass] = {}
    holders: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        name, spec = pod.bound_to, pod.spec
        if name and name not in known:
            continue
        one = classes.get(spec)
        if one is None:
            one = classes[spec] = PodClass.of(spec)
        if name:
            one.on_nodes[name] = one.on_nodes.get(name, 0) + 1
            if spec.gpu is not None:
                holders.setdefault(name, []).append(pod)
    return list(classes.values()), holders


def encoded_by(compiler: Compiler, source: Snapshot | Source) -> Encoded:
    """Return what a compiler has made of a cluster."""
    return Encoded(
        arrays=compiler.arrays,
        source=source,
        node_names=compiler.names,
        node_index=compiler.rows,
        specs=compiler.specs,
        class_index=compiler.class_index,
        resource_names=compiler.resource_names,
        objects=compiler.objects,
    )


def check_devices(node: Node) -> None:
    """Raise an `InputError` if a node has more GPU devices than can be counted exactly."""
    if node.gpu_count > MAX_DEVICES:
        raise InputError(
            f"node `{node.name}`: got {node.gpu_count} GPU devices, expected at most {MAX_DEVICES}",
            "describe a larger machine as several nodes",
        )
