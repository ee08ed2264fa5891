"""From names to arrays: the one place where a `Snapshot` becomes `ClusterArrays`.

Pods with equal specs share a class; every class is compiled once against the nodes and against the other classes.
"""

from dataclasses import dataclass, replace

import numpy as np

from longshore.core.arrays import ClusterArrays, State, Tables
from longshore.core.encode_classes import ClassEncoder
from longshore.core.encode_nodes import node_arrays, num_devices, reading_arrays
from longshore.core.golog import log_table
from longshore.core.gpu import best_fit
from longshore.core.node import Node
from longshore.core.ops import Array
from longshore.core.padding import matrix
from longshore.core.pod import Pod, PodSpec
from longshore.core.snapshot import Snapshot, TypicalPod
from longshore.core.typical import typical_pods


@dataclass(frozen=True)
class Encoded:
    """Arrays with the names that belong to their indices."""

    arrays: ClusterArrays
    snapshot: Snapshot
    node_names: tuple[str, ...]
    node_index: dict[str, int]
    specs: tuple[PodSpec, ...]
    class_index: dict[PodSpec, int]
    resource_names: tuple[str, ...]

    def class_of(self, pod: Pod) -> int:
        """Return the class of a pod of the snapshot."""
        return self.class_index[pod.spec]


def encode(snapshot: Snapshot, *, seed: int = 0, padded_nodes: int | None = None) -> Encoded:
    """Compile a snapshot.

    Args:
        snapshot: the cluster; pods bound to nodes that it does not have are left out.
        seed: of the random ties and the random policy.
        padded_nodes: rows of the node axis, at least the number of nodes; padding never is feasible.
    """
    names = tuple(node.name for node in snapshot.nodes)
    index = {name: i for i, name in enumerate(names)}
    specs = list({pod.spec: None for pod in snapshot.pods if not pod.bound_to or pod.bound_to in index})
    # At least one row, so that nothing later has to reduce over an empty axis.
    width = max(padded_nodes or len(names), 1)
    encoder = ClassEncoder(snapshot, specs)
    classes = encoder.encode()
    arrays = ClusterArrays(
        nodes=node_arrays(snapshot.nodes, encoder.keys, encoder.resource_names, width),
        readings=reading_arrays(snapshot.nodes, width),
        tables=_tables(snapshot, encoder, width),
        classes=classes,
        state=_empty_state(snapshot, encoder, width, seed),
    )
    class_index = {spec: i for i, spec in enumerate(specs)}
    encoded = Encoded(arrays, snapshot, names, index, tuple(specs), class_index, encoder.resource_names)
    return replace(encoded, arrays=arrays._replace(state=_bind(encoded, arrays.state)))


def _tables(snapshot: Snapshot, encoder: ClassEncoder, width: int) -> Tables:
    masks, weights, queries = encoder.static.masks.rows, encoder.static.weights.rows, encoder.queries.rows
    kinds = typical_pods(snapshot.pods) if snapshot.typical_pods is None else snapshot.typical_pods
    models_ok = [[_model_ok(kind, node) for node in snapshot.nodes] for kind in kinds]
    return Tables(
        masks=matrix(masks, (len(masks), width), bool),
        weights=matrix(weights, (len(weights), width), np.int64),
        match=matrix(queries, (len(queries), len(encoder.specs)), np.int64),
        log_size=log_table(width + 3),
        typical_cpu_millis=np.array([kind.cpu_millis for kind in kinds], np.int64),
        typical_gpu_milli=np.array([kind.gpu.milli if kind.gpu else 0 for kind in kinds], np.int64),
        typical_gpu_count=np.array([kind.gpu.count if kind.gpu else 0 for kind in kinds], np.int64),
        typical_model_ok=matrix(models_ok, (len(kinds), width), bool),
        typical_share=np.array([kind.share for kind in kinds], np.float64),
    )


def _empty_state(snapshot: Snapshot, encoder: ClassEncoder, width: int, seed: int) -> State:
    return State(
        requested=np.zeros((width, len(encoder.resource_names)), np.int64),
        nonzero_requested=np.zeros((width, 2), np.int64),
        pod_count=np.zeros(width, np.int64),
        counts=np.zeros((len(encoder.queries.rows), width), np.int64),
        gpu_used=np.zeros((width, num_devices(snapshot.nodes)), np.int64),
        last_node=np.array(-1, np.int32),
        step=np.array(0, np.uint32),
        seed=np.array(seed, np.uint32),
    )


def _bind(encoded: Encoded, state: State) -> State:
    """Count the pods that are already on nodes."""
    arrays, index = encoded.arrays, encoded.node_index
    bound = [pod for pod in encoded.snapshot.pods if pod.bound_to in index]
    if not bound:
        return state
    nodes = np.array([index[pod.bound_to] for pod in bound])
    classes = np.array([encoded.class_of(pod) for pod in bound])
    np.add.at(state.requested, nodes, arrays.classes.request[classes])
    np.add.at(state.nonzero_requested, nodes, arrays.classes.nonzero_request[classes])
    np.add.at(state.pod_count, nodes, 1)
    np.add.at(state.counts.T, nodes, arrays.tables.match.T[classes])
    for pod, node, pod_class in zip(bound, nodes, classes, strict=True):
        if pod.spec.gpu is not None:
            state.gpu_used[node] += _held_devices(encoded, state, pod, int(node), int(pod_class))
    return state


def _held_devices(encoded: Encoded, state: State, pod: Pod, node: int, pod_class: int) -> Array:
    """The devices that a bound pod says it holds, else those that it would be given."""
    if pod.gpu_devices is None or pod.spec.gpu is None:
        return best_fit(encoded.arrays._replace(state=state), pod_class)[node]
    held = np.zeros(state.gpu_used.shape[1], np.int64)
    held[[device for device in pod.gpu_devices if device < len(held)]] = pod.spec.gpu.milli
    return held


def _model_ok(kind: TypicalPod, node: Node) -> bool:
    return kind.gpu is None or not kind.gpu.models or node.gpu_model in kind.gpu.models
