"""From names to arrays: the one place where a `Snapshot` becomes `ClusterArrays`.

Pods with equal specs share a class; every class is compiled once against the nodes and against the other classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from longshore.core.arrays.cluster_arrays import ClusterArrays, State, Tables
from longshore.core.arrays.encode_classes import ClassEncoder, resource_columns
from longshore.core.arrays.encode_nodes import node_arrays, num_devices, reading_arrays
from longshore.core.arrays.golog import log_table
from longshore.core.arrays.gpu import fullest_first
from longshore.core.arrays.ops import Array
from longshore.core.arrays.padding import matrix
from longshore.core.arrays.queries import Queries
from longshore.core.arrays.static import StaticRows
from longshore.core.arrays.typical import typical_pods, typical_tables
from longshore.core.words.errors import InputError
from longshore.core.words.node import MAX_DEVICES, Node
from longshore.core.words.objects import Objects
from longshore.core.words.pod import GpuRequest, Pod, PodSpec
from longshore.core.words.resources import pod_requests
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


def encode(snapshot: Snapshot, *, seed: int = 0, padded_nodes: int | None = None) -> Encoded:
    """Compile a snapshot.

    Args:
        snapshot: the cluster; pods bound to nodes that it does not have are left out.
        seed: of the random ties and the random policy.
        padded_nodes: rows of the node axis, at least the number of nodes; padding never is feasible.

    Raises:
        InputError: fewer rows than nodes, or a node with more GPU devices than can be counted exactly.
    """
    width = _num_rows(snapshot.nodes, padded_nodes)
    names = tuple(node.name for node in snapshot.nodes)
    index = {name: i for i, name in enumerate(names)}
    specs = list({pod.spec: None for pod in snapshot.pods if not pod.bound_to or pod.bound_to in index})
    requests = [pod_requests(spec) for spec in specs]
    objects = Objects.of(snapshot)
    static, queries = StaticRows(snapshot.nodes, objects), Queries(objects, specs)
    encoder = ClassEncoder(static, queries, requests, resource_columns(requests))
    classes = encoder.encode(range(len(specs)))
    arrays = ClusterArrays(
        nodes=node_arrays(snapshot.nodes, encoder.keys, encoder.resource_names, width),
        readings=reading_arrays(snapshot.nodes, width),
        tables=_tables(snapshot, encoder, width),
        classes=classes,
        state=_empty_state(snapshot, encoder, width, seed),
    )
    class_index = {spec: i for i, spec in enumerate(specs)}
    encoded = Encoded(arrays, snapshot, names, index, tuple(specs), class_index, encoder.resource_names, objects)
    return replace(encoded, arrays=arrays._replace(state=_bind(encoded, arrays.state)))


def _num_rows(nodes: tuple[Node, ...], padded_nodes: int | None) -> int:
    if padded_nodes is not None and padded_nodes < max(len(nodes), 1):
        raise InputError(
            f"got {padded_nodes} padded rows for {len(nodes)} nodes, expected at least {max(len(nodes), 1)}",
            "give `padded_nodes` the number of nodes or more, or leave it out",
        )
    for node in nodes:
        check_devices(node)
    # At least one row, so that nothing later has to reduce over an empty axis.
    return padded_nodes or max(len(nodes), 1)


def check_devices(node: Node) -> None:
    """Raise an `InputError` if a node has more GPU devices than can be counted exactly."""
    if node.gpu_count > MAX_DEVICES:
        raise InputError(
            f"node `{node.name}`: got {node.gpu_count} GPU devices, expected at most {MAX_DEVICES}",
            "describe a larger machine as several nodes",
        )


def _tables(snapshot: Snapshot, encoder: ClassEncoder, width: int) -> Tables:
    masks, weights = encoder.static.masks.rows, encoder.static.weights.rows
    pods = typical_pods(snapshot.pods) if snapshot.typical_pods is None else snapshot.typical_pods
    return Tables(
        masks=matrix(masks, (len(masks), width), bool),
        weights=matrix(weights, (len(weights), width), np.int64),
        match=encoder.queries.match(),
        log_size=log_table(width + 3),
        **typical_tables(pods, snapshot.nodes, width),
    )


def _empty_state(snapshot: Snapshot, encoder: ClassEncoder, width: int, seed: int) -> State:
    return State(
        requested=np.zeros((width, len(encoder.resource_names)), np.int64),
        nonzero_requested=np.zeros((width, 2), np.int64),
        pod_count=np.zeros(width, np.int64),
        counts=np.zeros((len(encoder.queries.amounts), width), np.int64),
        gpu_used=np.zeros((width, num_devices(snapshot.nodes)), np.int64),
        last_node=np.array(-1, np.int32),
        step=np.array(0, np.uint32),
        seed=np.array(seed, np.uint32),
        next_class=np.array(-1, np.int32),
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
    _count_matches(state, arrays.tables.match, nodes, classes)
    holders = [Holder(index[pod.bound_to], pod.spec.gpu, pod.gpu_devices) for pod in bound if pod.spec.gpu]
    book_devices(state.gpu_used, arrays.nodes.gpu_capacity, holders)
    return state


def _count_matches(state: State, match: Array, nodes: Array, classes: Array) -> None:
    """Add every pod to the counters of its node, class by class: few of all queries count a class."""
    queries, counted = np.nonzero(match)
    by_class = np.argsort(counted, kind="stable")
    queries, ends = queries[by_class], np.cumsum(np.bincount(counted, minlength=match.shape[1]))
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    for pod_class, rows in zip(classes[order][starts], np.split(nodes[order], starts[1:]), strict=True):
        own = queries[ends[pod_class - 1] if pod_class else 0 : ends[pod_class]]
        if len(own):
            held_by, num_pods = np.unique(rows, return_counts=True)
            state.counts[np.ix_(own, held_by)] += match[own, pod_class][:, None] * num_pods


class Holder(NamedTuple):
    """A bound pod that holds GPU devices."""

    node: int
    wants: GpuRequest
    says: tuple[int, ...] | None


def book_devices(used: Array, capacity: Array, holders: Sequence[Holder]) -> list[Array]:
    """Give bound pods the devices that they say they hold, then the others those that fit best.

    What a pod says counts if the node has these devices, they are as many as it asks for, and none would be given away
    twice; otherwise the pod is one of the others, so that what it holds is never forgotten.

    Args:
        used: what is taken already; what the pods hold is added [nodes, devices].
        capacity: of the devices [nodes, devices].
        holders: the pods; of those that do not say what they hold, the first one chooses first.

    Returns:
        What every pod was given [devices].
    """
    given: list[Array | None] = []
    for holder in holders:
        held = _named_devices(holder, capacity[holder.node], used[holder.node])
        given.append(held)
        if held is not None:
            used[holder.node] += held
    for i, (node, wants, _) in enumerate(holders):
        if given[i] is None:
            row = slice(node, node + 1)
            free = capacity[row] - used[row]
            given[i] = fullest_first(capacity[row], free, np.int64(wants.milli), np.int64(wants.count))[0]
            used[node] += given[i]
    return given


def _named_devices(holder: Holder, capacity: Array, used: Array) -> Array | None:
    if holder.says is None or not len(holder.says) == len(set(holder.says)) == holder.wants.count:
        return None
    if not all(0 <= device < len(capacity) for device in holder.says):
        return None
    held = np.zeros_like(used)
    held[list(holder.says)] = holder.wants.milli
    return held if (used + held <= capacity).all() else None
