"""The arrays of a live cluster, written to in place: what pods change at once, what classes add, what nodes become.

The tables grow by rows; rows beyond those in use are zero, which is neutral. Everything is compiled by the same code as
`arrays.encode` does it. Pods on nodes are counted for every class; where its pods may go is compiled only for classes
that are asked about, since most classes of a cluster have only pods that are placed. Called by `arrays.live`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays, NodeArrays, Readings, State, Tables
from longshore.core.arrays.encode import Holder, book_devices
from longshore.core.arrays.encode_classes import ClassEncoder, resource_columns
from longshore.core.arrays.encode_nodes import domains, node_arrays, reading_columns, sizes_of, zone_near
from longshore.core.arrays.golog import log_table
from longshore.core.arrays.live_population import PodClass
from longshore.core.arrays.ops import Array
from longshore.core.arrays.queries import ZONE_KEY, Queries
from longshore.core.arrays.static import StaticRows
from longshore.core.arrays.typical import typical_tables
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.objects import Objects
from longshore.core.words.pod import Pod, PodSpec
from longshore.core.words.snapshot import TypicalPod

_SPARE = 1.5
"""How much larger than needed a table is made when it has to grow."""
_BY_NODE = (
    "allocatable",
    "allowed_pods",
    "gpu_capacity",
    "gpu_watts",
    "power_curve",
    "cost_per_hour",
    "carbon_grams_per_kwh",
)
"""What of `NodeArrays` is about a node alone."""


class LiveArrays:
    """Arrays over a fixed set of nodes; another set, or a resource that had no column, needs new ones."""

    def __init__(
        self, objects: Objects, nodes: Sequence[Node], measured: Sequence[NodeReadings], classes: Sequence[PodClass]
    ) -> None:
        """Take a cluster, without its pods: `classes` are those that will be added at once.

        The objects may change; whom a change is about is compiled again by the caller.
        """
        self.names = tuple(node.name for node in nodes)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.classes: list[PodClass] = []
        self.class_index: dict[PodSpec, int] = {}
        self._width = max(len(nodes), 1)
        self._sizes = sizes_of(nodes)
        self._measured = list(measured)
        self._static = StaticRows(nodes, objects, merges_equal=False)
        self._queries = Queries(objects, [])
        requests = [one.requests for one in classes]
        columns = resource_columns(requests)
        self._requests = requests[:0]
        self._encoder = ClassEncoder(self._static, self._queries, self._requests, columns)
        self._closed = self._static.masks.judged("closed", lambda where: [0 for _ in where])
        self._nodes: NodeArrays = node_arrays(nodes, {}, self.resource_names, self._width)
        self._readings = Readings._make(
            [*reading_columns(measured, self._width), zone_near(nodes, measured, self._width)]
        )
        self._classes: ClassArrays = self._encoder.encode(())
        self._tables = self._empty_tables()
        self._state = self._empty_state()
        self._made: ClusterArrays | None = None
        self.add(classes)
        self._put_rows()
        self.bytes_at_start = self.num_bytes

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The columns of what is asked for."""
        return self._encoder.resource_names

    @property
    def specs(self) -> Sequence[PodSpec]:
        """The classes' specs."""
        return self._queries.specs

    @property
    def arrays(self) -> ClusterArrays:
        """All arrays; another tuple, with other arrays in what caches look at, after every change but of the state."""
        if self._made is None:
            self._made = ClusterArrays(self._nodes, self._readings, self._tables, self._classes, self._state)
        return self._made

    def _changed_classes(self) -> None:
        """Make a new array object of the same memory, by which whoever keeps something by class sees the change."""
        self._classes = self._classes._replace(request=self._classes.request[:])
        self._made = None

    @property
    def num_bytes(self) -> int:
        """What the rows in use take."""
        static = self._static
        return self._width * (
            8 * len(self._queries.amounts) + len(static.masks.rows) + 8 * len(static.weights.rows)
        ) + 4 * len(self._queries.amounts) * len(self.classes)

    def has_columns_for(self, pod_class: PodClass) -> bool:
        """Say whether every resource that the class asks for has a column."""
        return all(name in self.resource_names for name, _ in pod_class.requests.amounts)

    def shift(self, pod_class: PodClass, row: int, sign: int) -> None:
        """Add a pod to a node (1) or take it away (-1); its devices are booked by `book`."""
        state = self._state
        state.requested[row] += pod_class.request if sign > 0 else -pod_class.request
        state.nonzero_requested[row] += pod_class.nonzero_request if sign > 0 else -pod_class.nonzero_request
        state.pod_count[row] += sign
        counts = state.counts
        for query, amount in pod_class.own:
            counts[query, row] += sign * amount

    def set_progress(self, seed: int, step: int, last_node: int) -> None:
        """Set what random ties and round-robin read."""
        state = self._state
        state.seed[...], state.step[...], state.last_node[...] = seed, step % 2**32, last_node

    def book(self, row: int, pods: Sequence[Pod]) -> list[Array]:
        """Book the devices of a node anew: of all its pods that hold GPUs. Return what each holds."""
        self._state.gpu_used[row] = 0
        holders = [Holder(row, pod.spec.gpu, pod.gpu_devices) for pod in pods if pod.spec.gpu is not None]
        return book_devices(self._state.gpu_used, self._nodes.gpu_capacity, holders)

    def add(self, classes: Sequence[PodClass]) -> list[PodClass]:
        """Add classes and count their pods; return those that have to be compiled again because of them."""
        touched: set[int] = set()
        for one in classes:
            one.index, one.is_compiled = len(self.classes), False
            self.classes.append(one)
            self.class_index[one.spec] = one.index
            self._requests.append(one.requests)
            news = self._queries.add(one.spec)
            if news.terms or news.ports:
                touched |= self._queries.touched_by(news)
        if classes:
            self._grow_classes()
            self._write_counted(classes)
            self._changed_classes()
        if any(one.spec.gpu for one in classes) and not self._classes.gpu_any_query:
            query = self._queries.gpu_any()
            self._put_queries(range(query, query + 1))
            self._classes = self._classes._replace(gpu_any_query=np.array(query, np.int32))
        changed = [self.classes[index] for index in touched if self.classes[index].is_compiled]
        for one in changed:
            one.is_compiled = False
        return changed

    def compile(self, classes: Sequence[PodClass]) -> None:
        """Work out where pods of some classes may go."""
        if not classes:
            return
        at = [one.index for one in classes]
        num_queries, num_keys = len(self._queries.amounts), len(self._encoder.keys)
        rows = self._encoder.encode(at)
        self._classes = _scattered(self._classes, rows, at, self._classes.request.shape[0])
        self._put_rows()
        self._put_queries(range(num_queries, len(self._queries.amounts)))
        if len(self._encoder.keys) > num_keys:
            domain = domains(self._static.nodes, self._encoder.keys, self._width)
            self._nodes = self._nodes._replace(domain=domain)
        for one in classes:
            one.is_compiled = True
        self._changed_classes()

    def put_typical(self, pods: Sequence[TypicalPod]) -> None:
        """Take other typical pods."""
        self._made = None
        self._tables = self._tables._replace(**typical_tables(pods, self._static.nodes, self._width))

    def put_nodes(self, nodes: Mapping[str, Node]) -> bool:
        """Put other words for some of the nodes; False = they differ in what only new arrays can hold."""
        static = self._static
        images: set[str] = set()
        had_images, has_new_labels = not static.images.is_empty, False
        for name, node in nodes.items():
            old = static.nodes[self.rows[name]]
            if sizes_of([old]) != sizes_of([node]) or old.gpu_model != node.gpu_model:
                return False
            has_new_labels |= old.labels != node.labels
            images |= static.put_node(self.rows[name], node)
        if had_images == static.images.is_empty:
            return False
        self._made = None
        where = [self.rows[name] for name in nodes]
        fresh = node_arrays(list(nodes.values()), {}, self.resource_names, len(where), self._sizes)
        changed = {name: _with_rows(getattr(self._nodes, name), where, getattr(fresh, name)) for name in _BY_NODE}
        self._nodes = self._nodes._replace(**changed)
        if has_new_labels:
            self._renumber()
        for table, rows in ((static.masks, self._tables.masks), (static.weights, self._tables.weights)):
            for row, judge in table.judges.items():
                rows[row, where] = judge(where)
        for row, (names, num_containers) in static.image_rows.items():
            if images.intersection(names):
                self._tables.weights[row, : len(self.names)] = static.images.weights(names, num_containers)
        return True

    def put_readings(self, measured: Mapping[str, NodeReadings]) -> None:
        """Put what was measured on some of the nodes."""
        if not measured:
            return
        self._made = None
        where = [self.rows[name] for name in measured]
        has_zones = any(new.zone_latency_ms for new in measured.values())
        for row, new in zip(where, measured.values(), strict=True):
            has_zones |= bool(self._measured[row].zone_latency_ms)
            self._measured[row] = new
        columns = reading_columns(list(measured.values()), len(where))
        arrays = [_with_rows(old, where, new) for old, new in zip(self._readings[:-1], columns, strict=True)]
        near = zone_near(self._static.nodes, self._measured, self._width) if has_zones else self._readings.zone_near
        self._readings = Readings._make([*arrays, near])

    @property
    def reads_namespaces(self) -> bool:
        """Some term selects namespaces by their labels."""
        return self._queries.reads_namespaces

    def _renumber(self) -> None:
        """Number the domains again, without gaps, as nodes have other labels."""
        nodes = self._static.nodes
        self._nodes = self._nodes._replace(
            domain=domains(nodes, self._encoder.keys, self._width),
            zone=domains(nodes, {ZONE_KEY: 0}, self._width)[0],
        )
        self._readings = self._readings._replace(zone_near=zone_near(nodes, self._measured, self._width))

    def _grow_classes(self) -> None:
        """Make room for all classes in every table."""
        num_classes, tables = len(self.classes), self._tables
        if num_classes > self._classes.request.shape[0]:
            size = int(num_classes * _SPARE) + 16
            self._classes = _scattered(self._classes, self._classes, range(self._classes.request.shape[0]), size)
            self._tables = tables._replace(match=_grown(tables.match, (tables.match.shape[0], size)))

    def _write_counted(self, classes: Sequence[PodClass]) -> None:
        """Write what pods of classes take; nowhere may they go until they are compiled."""
        table, match = self._classes, self._tables.match
        at = [one.index for one in classes]
        table.request[at] = self._encoder.request_rows([one.requests for one in classes])
        table.nonzero_request[at] = [
            (r.nonzero_cpu_millis, r.nonzero_memory_bytes) for r in (o.requests for o in classes)
        ]
        table.prefilter_mask[at] = self._closed
        for one in classes:
            # Copies, since the tables may move.
            one.request, one.nonzero_request = table.request[one.index].copy(), table.nonzero_request[one.index].copy()
            one.own = self._queries.own(one.index)
            for query, amount in one.own:
                match[query, one.index] = amount
            rows, num_pods = self._held(one)
            if len(rows):
                state = self._state
                state.requested[rows] += num_pods[:, None] * one.request
                state.nonzero_requested[rows] += num_pods[:, None] * one.nonzero_request
                state.pod_count[rows] += num_pods
                for query, amount in one.own:
                    state.counts[query, rows] += amount * num_pods

    def _put_queries(self, queries: range) -> None:
        """Count the pods that are there for queries that are new."""
        tables, state = self._tables, self._state
        if queries.stop > tables.match.shape[0]:
            size = int(queries.stop * _SPARE) + 16
            self._tables = tables = tables._replace(match=_grown(tables.match, (size, tables.match.shape[1])))
            self._state = state = state._replace(counts=_grown(state.counts, (size, self._width)))
        held: dict[int, tuple[Array, Array]] = {}
        for query in queries:
            for index, amount in self._queries.amounts[query].items():
                one = self.classes[index]
                tables.match[query, index] = amount
                one.own.append((query, amount))
                if index not in held:
                    held[index] = self._held(one)
                rows, num_pods = held[index]
                state.counts[query, rows] += amount * num_pods

    def _put_rows(self) -> None:
        """Write the rows of masks and weights that are new; the lists that they were made as are not kept."""
        static = self._static
        masks = self._with_new_rows(self._tables.masks, static.masks.rows)
        weights = self._with_new_rows(self._tables.weights, static.weights.rows)
        self._tables = self._tables._replace(masks=masks, weights=weights)

    def _with_new_rows(self, table: Array, rows: list[list[int]]) -> Array:
        if len(rows) > table.shape[0]:
            table = _grown(table, (int(len(rows) * _SPARE) + 8, self._width))
        for row in range(len(rows) - 1, 0, -1):
            if not rows[row]:
                break
            table[row, : len(self.names)] = rows[row]
            rows[row] = []
        return table

    def _held(self, one: PodClass) -> tuple[Array, Array]:
        """Return the rows of the nodes that have pods of a class, and how many."""
        pairs = [(self.rows[name], count) for name, count in one.on_nodes.items() if name in self.rows]
        found = np.array(pairs, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _empty_tables(self) -> Tables:
        masks = np.zeros((2, self._width), bool)
        masks[0, : len(self.names)] = True
        return Tables(
            masks=masks,
            weights=np.zeros((1, self._width), np.int64),
            match=np.zeros((1, 0), np.int32),
            log_size=log_table(self._width + 3),
            **typical_tables((), self._static.nodes, self._width),
        )

    def _empty_state(self) -> State:
        width = self._width
        return State(
            requested=np.zeros((width, len(self.resource_names)), np.int64),
            nonzero_requested=np.zeros((width, 2), np.int64),
            pod_count=np.zeros(width, np.int64),
            counts=np.zeros((1, width), np.int64),
            gpu_used=np.zeros((width, self._sizes[1]), np.int64),
            last_node=np.array(-1, np.int32),
            step=np.array(0, np.uint32),
            seed=np.array(0, np.uint32),
            next_class=np.array(-1, np.int32),
        )


def _grown(table: Array, shape: tuple[int, ...]) -> Array:
    """Return a larger table, zero where it is new."""
    larger = np.zeros(shape, table.dtype)
    larger[tuple(slice(0, size) for size in table.shape)] = table
    return larger


def _with_rows(array: Array, where: Iterable[int], rows: Array) -> Array:
    changed = array.copy()
    changed[where] = rows
    return changed


def _scattered(table: Any, rows: Any, at: Sequence[int], num_rows: int) -> Any:
    """Write rows of classes into their table, field by field; fields that are too narrow are made wider."""
    if isinstance(table, tuple):
        pairs = zip(table, rows, strict=True)
        return type(table)._make(_scattered(old, new, at, num_rows) for old, new in pairs)  # type: ignore[attr-defined]
    if table.ndim == 0:
        return rows
    shape = (
        max(num_rows, table.shape[0]),
        *(max(old, new) for old, new in zip(table.shape[1:], rows.shape[1:], strict=True)),
    )
    if shape != table.shape:
        table = _grown(table, shape)
    if table.ndim == 1:
        table[at] = rows
    else:
        table[at] = 0
        table[at, : rows.shape[1]] = rows
    return table
