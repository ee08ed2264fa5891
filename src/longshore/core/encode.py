"""From names to arrays: the one place where a `Snapshot` becomes `ClusterArrays`.

Pods with equal specs share a class; every class is compiled once against the nodes and against the other classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from longshore.core import resources
from longshore.core.arrays import ClassArrays, ClusterArrays, NodeArrays, Readings, SpreadTerms, State, Tables, Terms
from longshore.core.gpu import WHOLE_GPU_MILLI, best_fit
from longshore.core.golog import log_table
from longshore.core.node import Node
from longshore.core.ops import Array
from longshore.core.pod import Pod, PodSpec, SpreadConstraint
from longshore.core.queries import HOSTNAME_KEY, Queries, weighted_terms
from longshore.core.resources import CORE_RESOURCES, PODS, pod_requests
from longshore.core.snapshot import Snapshot, TypicalPod
from longshore.core.static import StaticRows
from longshore.core.typical import typical_pods

Rows = Sequence[Sequence[int]]


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
    by_spec = {pod.spec: None for pod in snapshot.pods if not pod.bound_to or pod.bound_to in index}
    specs = list(by_spec)
    class_index = {spec: i for i, spec in enumerate(specs)}
    encoder = _Encoder(snapshot, specs, padded_nodes or len(names))
    arrays = encoder.arrays(seed)
    encoded = Encoded(arrays, snapshot, names, index, tuple(specs), class_index, encoder.resource_names)
    return replace(encoded, arrays=arrays._replace(state=_bind(encoded, arrays.state)))


class _Encoder:
    """Holds what the parts of one encoding share."""

    def __init__(self, snapshot: Snapshot, specs: list[PodSpec], width: int) -> None:
        self.snapshot, self.specs, self.width = snapshot, specs, width
        self.nodes = snapshot.nodes
        self.requests = [pod_requests(spec) for spec in specs]
        self.static = StaticRows(snapshot)
        self.queries = Queries(snapshot, specs)
        self.keys: dict[str, int] = {}
        names = {name for request in self.requests for name, _ in request.amounts}
        # Resources that no pod asks for cannot decide anything: only the asked ones get a column.
        self.resource_names = CORE_RESOURCES + tuple(sorted(names - set(CORE_RESOURCES)))
        self.num_devices = max((node.gpu_count for node in self.nodes), default=0)

    def arrays(self, seed: int) -> ClusterArrays:
        classes = self._classes()
        tables = self._tables()
        nodes = self._nodes()
        return ClusterArrays(nodes, self._readings(), tables, classes, self._state(len(tables.match), seed))

    def _nodes(self) -> NodeArrays:
        amounts = [dict(node.allocatable) for node in self.nodes]
        columns = self.resource_names
        allocatable = [[resources.amount(name, have.get(name, 0)) for name in columns] for have in amounts]
        order = sorted(range(len(self.nodes)), key=lambda i: self.nodes[i].name)
        rank = dict(zip(order, range(len(order)), strict=True))
        models = {model: i for i, model in enumerate(sorted({node.gpu_model for node in self.nodes if node.gpu_count}))}
        points = max((len(node.power.watts_at_load) for node in self.nodes), default=2)
        return NodeArrays(
            is_real=np.arange(self.width) < len(self.nodes),
            allocatable=self._pad(np.array(allocatable, np.int64).reshape(len(self.nodes), len(columns))),
            allowed_pods=self._int([resources.amount(PODS, have.get(PODS, 0)) for have in amounts]),
            domain=self._domains(),
            name_rank=self._int([rank[i] for i in range(len(self.nodes))], np.int32, fill=self.width),
            gpu_capacity=self._pad(np.array([self._devices(node) for node in self.nodes], np.int64)),
            gpu_model=self._int([models.get(node.gpu_model, -1) for node in self.nodes], np.int32, fill=-1),
            power_curve=self._pad(np.array([_resampled(node, points) for node in self.nodes])),
            cost_per_hour=self._float([node.cost_per_hour for node in self.nodes]),
            carbon_grams_per_kwh=self._float([node.carbon_grams_per_kwh for node in self.nodes]),
        )

    def _devices(self, node: Node) -> list[int]:
        return [WHOLE_GPU_MILLI] * node.gpu_count + [0] * (self.num_devices - node.gpu_count)

    def _domains(self) -> Array:
        domain = np.zeros((max(len(self.keys), 1), self.width), np.int32)
        for key, row in self.keys.items():
            numbers = {"": 1}
            for i, labels in enumerate(self.static.labels):
                if key in labels:
                    domain[row, i] = numbers.setdefault(labels[key], len(numbers) + 1)
        return domain

    def _readings(self) -> Readings:
        latency, connections, traffic, cpu = zip(*(node.readings[:4] for node in self.nodes), strict=True) if self.nodes else ((),) * 4
        pairs = [(self._float([v or 0.0 for v in values]), self._bool([v is not None for v in values])) for values in (latency, connections, traffic, cpu)]
        return Readings(*(array for pair in pairs for array in pair))

    def _tables(self) -> Tables:
        typical = self.snapshot.typical_pods
        kinds = typical_pods(self.snapshot.pods) if typical is None else typical
        models_ok = [[_model_ok(kind, node) for node in self.nodes] for kind in kinds]
        return Tables(
            masks=self._rows(self.static.masks.rows, bool),
            weights=self._rows(self.static.weights.rows, np.int64),
            match=np.array(self.queries.rows, np.int64).reshape(len(self.queries.rows), len(self.specs)),
            log_size=log_table(self.width + 3),
            typical_cpu_millis=np.array([kind.cpu_millis for kind in kinds], np.int64),
            typical_gpu_milli=np.array([kind.gpu.milli if kind.gpu else 0 for kind in kinds], np.int64),
            typical_gpu_count=np.array([kind.gpu.count if kind.gpu else 0 for kind in kinds], np.int64),
            typical_model_ok=self._rows(models_ok, bool),
            typical_share=np.array([kind.share for kind in kinds], np.float64),
        )

    def _classes(self) -> ClassArrays:
        specs, static, queries = self.specs, self.static, self.queries
        rows = [dict(request.amounts) for request in self.requests]
        request = [[row.get(name, 0) for name in self.resource_names] for row in rows]
        soft = [queries.spread_constraints(spec) for spec in specs]
        preferred = [self._preferred(spec) for spec in specs]
        soft_limit = [_limit(spec.latency_soft_ms) for spec in specs]
        hard_limit = [_limit(spec.latency_hard_ms) for spec in specs]
        return ClassArrays(
            request=np.array(request, np.int64).reshape(len(specs), len(self.resource_names)),
            nonzero_request=_pairs([(r.nonzero_cpu_millis, r.nonzero_memory_bytes) for r in self.requests]),
            score_request=_pairs([(r.score_cpu_millis, r.score_memory_bytes) for r in self.requests]),
            prefilter_mask=self._per_class(static.prefilter),
            node_name_mask=self._per_class(static.node_name),
            unschedulable_mask=self._per_class(static.unschedulable),
            taint_mask=self._per_class(static.taints),
            affinity_mask=self._per_class(static.affinity),
            volume_mask=self._per_class(static.volumes),
            gpu_model_mask=self._per_class(static.gpu_model),
            taint_weight=self._per_class(static.taint_weight),
            affinity_weight=self._per_class(static.affinity_weight),
            image_weight=self._per_class(static.image_weight),
            ports=_ragged([self._port_conflicts(spec) for spec in specs], np.int32),
            hard_spread=self._spread([tuple(c for c in spec.spread if c.is_hard) for spec in specs]),
            soft_spread=self._spread([constraints for constraints, _ in soft]),
            soft_is_default=np.array([is_default for _, is_default in soft], bool),
            affinity=_terms([self._affinity(spec) for spec in specs]),
            affinity_self=np.array([self._matches_itself(i) for i in range(len(specs))], bool),
            anti_affinity=_terms([[(queries.term(spec, term), self._key(term.topology_key)) for term in spec.anti_affinity] for spec in specs]),
            repelled_by=_terms(self._repelled()),
            preferred=_terms([[(query, key) for query, key, _ in row] for row in preferred]),
            preferred_weight=_ragged([[weight for _, _, weight in row] for row in preferred], np.int64),
            gpu_count=np.array([spec.gpu.count if spec.gpu else 0 for spec in specs], np.int64),
            gpu_milli=np.array([spec.gpu.milli if spec.gpu else 0 for spec in specs], np.int64),
            gpu_kind_query=self._per_class(queries.gpu_kind),
            gpu_any_query=np.array(queries.gpu_any(), np.int32),
            latency_soft_ms=np.array(soft_limit, np.float64),
            latency_hard_ms=np.array(hard_limit, np.float64),
            has_latency_limits=np.isfinite(np.array(soft_limit, np.float64)) & np.isfinite(np.array(hard_limit, np.float64)),
        )

    def _affinity(self, spec: PodSpec) -> list[tuple[int, int]]:
        query = self.queries.all_terms(spec) if spec.affinity else 0
        return [(query, self._key(term.topology_key)) for term in spec.affinity]

    def _matches_itself(self, index: int) -> bool:
        spec, queries = self.specs[index], self.queries
        terms = [queries.resolve(spec, term) for term in spec.affinity]
        return bool(terms) and all(queries.incoming_matches(term, spec, queries.labels[index]) for term in terms)

    def _repelled(self) -> list[list[tuple[int, int]]]:
        """For every class, the anti-affinity terms of all classes that match it."""
        queries = self.queries
        terms = {queries.resolve(spec, term): None for spec in self.specs for term in spec.anti_affinity}
        return [
            [
                (queries.carriers(term), self._key(term.topology_key))
                for term in terms
                if queries.existing_matches(term, spec, labels)
            ]
            for spec, labels in zip(self.specs, queries.labels, strict=True)
        ]

    def _preferred(self, spec: PodSpec) -> list[tuple[int, int, int]]:
        """(query, key, weight): the class's own wishes, then those that others have about it."""
        queries = self.queries
        signed = [(wish.weight, wish.term) for wish in spec.preferred_affinity]
        signed += [(-wish.weight, wish.term) for wish in spec.preferred_anti_affinity]
        own = [(queries.term(spec, term), self._key(term.topology_key), weight) for weight, term in signed]
        labels = dict(spec.labels)
        others = [
            (queries.weight(term), self._key(term.topology_key), 1)
            for term in self._weighted_terms()
            if queries.existing_matches(term, spec, labels)
        ]
        return own + others

    def _weighted_terms(self) -> list:
        if not hasattr(self, "_weighted"):
            found = {self.queries.resolve(spec, term): None for spec in self.specs for _, term in weighted_terms(spec)}
            self._weighted = list(found)
        return self._weighted

    def _port_conflicts(self, spec: PodSpec) -> list[int]:
        wanted = spec.host_ports
        if not wanted:
            return []
        held = {port: None for other in self.specs for port in other.host_ports}
        return [self.queries.ports(port) for port in held if any(port.conflicts(mine) for mine in wanted)]

    def _spread(self, constraints: Sequence[tuple[SpreadConstraint, ...]]) -> SpreadTerms:
        def column(read: Callable[[PodSpec, SpreadConstraint], int], dtype: type) -> Array:
            return _ragged([[read(spec, c) for c in row] for spec, row in zip(self.specs, constraints, strict=True)], dtype)

        return SpreadTerms(
            query=column(lambda spec, c: self.queries.spread(spec.namespace, c.selector), np.int32),
            key=column(lambda _, c: self._key(c.topology_key), np.int32),
            max_skew=column(lambda _, c: c.max_skew, np.int64),
            min_domains=column(lambda _, c: c.min_domains, np.int64),
            self_match=column(lambda spec, c: int(c.selector is not None and c.selector.matches(dict(spec.labels))), np.int64),
            honors_affinity=column(lambda _, c: c.honors_affinity, bool),
            honors_taints=column(lambda _, c: c.honors_taints, bool),
            is_hostname=column(lambda _, c: c.topology_key == HOSTNAME_KEY, bool),
        )

    def _state(self, num_queries: int, seed: int) -> State:
        return State(
            requested=np.zeros((self.width, len(self.resource_names)), np.int64),
            nonzero_requested=np.zeros((self.width, 2), np.int64),
            pod_count=np.zeros(self.width, np.int64),
            counts=np.zeros((num_queries, self.width), np.int64),
            gpu_used=np.zeros((self.width, self.num_devices), np.int64),
            last_node=np.array(-1, np.int32),
            step=np.array(0, np.uint32),
            seed=np.array(seed, np.uint32),
        )

    def _key(self, topology_key: str) -> int:
        return self.keys.setdefault(topology_key, len(self.keys))

    def _per_class(self, compile_row: Callable[[PodSpec], int]) -> Array:
        return np.array([compile_row(spec) for spec in self.specs], np.int32)

    def _rows(self, rows: Rows, dtype: type) -> Array:
        array = np.zeros((len(rows), self.width), dtype)
        if rows:
            array[:, : len(self.nodes)] = rows
        return array

    def _pad(self, array: Array) -> Array:
        padded = np.zeros((self.width, *array.shape[1:]), array.dtype)
        padded[: len(self.nodes)] = array
        return padded

    def _int(self, values: Sequence[int], dtype: type = np.int64, fill: int = 0) -> Array:
        array = np.full(self.width, fill, dtype)
        array[: len(values)] = values
        return array

    def _float(self, values: Sequence[float]) -> Array:
        return self._pad(np.array(values, np.float64))

    def _bool(self, values: Sequence[bool]) -> Array:
        return self._pad(np.array(values, bool))


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


def _terms(rows: Sequence[Sequence[tuple[int, int]]]) -> Terms:
    queries = _ragged([[query for query, _ in row] for row in rows], np.int32)
    return Terms(queries, _ragged([[key for _, key in row] for row in rows], np.int32))


def _ragged(rows: Sequence[Sequence[int]], dtype: type) -> Array:
    width = max((len(row) for row in rows), default=0)
    array = np.zeros((len(rows), width), dtype)
    if width:
        for i, row in enumerate(rows):
            array[i, : len(row)] = row
    return array


def _pairs(values: Sequence[tuple[int, int]]) -> Array:
    return np.array(values, np.int64).reshape(len(values), 2)


def _limit(milliseconds: float | None) -> float:
    return np.inf if milliseconds is None else milliseconds


def _model_ok(kind: TypicalPod, node: Node) -> bool:
    return kind.gpu is None or not kind.gpu.models or node.gpu_model in kind.gpu.models


def _resampled(node: Node, points: int) -> list[float]:
    curve = node.power.watts_at_load
    return list(np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(curve)), curve))
