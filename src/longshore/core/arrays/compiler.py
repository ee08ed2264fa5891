"""From words to arrays that are written to in place: what pods change at once, what classes add, what nodes become.

A snapshot fills it once (`arrays.encode`), a live cluster again and again (`arrays.live`). What is filled once has the
size that it needs; tables that grow later have rows to spare, which are zero, and that is neutral. Pods on nodes are
counted for every class; where its pods may go is compiled only for classes that are asked about, since most classes of
a cluster have only pods that are placed.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from longshore.core.arrays.cluster_arrays import ClassArrays, ClusterArrays, NodeArrays, Readings, State, Tables
from longshore.core.arrays.encode_classes import ClassEncoder, resource_columns
from longshore.core.arrays.encode_nodes import (
    domains,
    node_arrays,
    reading_arrays,
    reading_columns,
    sizes_of,
    zone_near,
)
from longshore.core.arrays.golog import log_table
from longshore.core.arrays.gpu import book_devices
from longshore.core.arrays.ops import Array
from longshore.core.arrays.population import PodClass
from longshore.core.arrays.queries import ZONE_KEY, Queries
from longshore.core.arrays.static import Parts, StaticRows
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


class Compiler:
    """Arrays over a fixed set of nodes; another set, or a resource that had no column, needs new ones."""

    def __init__(
        self,
        objects: Objects,
        nodes: Sequence[Node],
        classes: Sequence[PodClass],
        parts: Parts = (),
        *,
        measured: Sequence[NodeReadings] | None = None,
        width: int | None = None,
        typical: Sequence[TypicalPod] = (),
        merges_equal: bool = False,
    ) -> None:
        """Take a cluster; its arrays are there once `compile` was called.

        Args:
            objects: what constraints refer to. They may change; whom a change is about is compiled again by the caller.
            nodes: the nodes, in the order of their rows.
            classes: those to begin with, as for `add`.
            parts: of the filters that will be asked (`filters.static_parts`).
            measured: what was read on the nodes; None = what they say themselves.
            width: rows of the node axis; None = as many as are needed.
            typical: what fragmentation is measured against.
            merges_equal: as of `static.RowTable`, for nodes that never change.
        """
        self.names = tuple(node.name for node in nodes)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.classes: list[PodClass] = []
        self.class_index: dict[PodSpec, int] = {}
        # At least one row, so that nothing later has to reduce over an empty axis.
        self._width = width or max(len(nodes), 1)
        self._sizes = sizes_of(nodes)
        self._measured = [node.readings for node in nodes] if measured is None else list(measured)
        self.objects = objects
        self._static = StaticRows(nodes, objects, parts, merges_equal=merges_equal)
        self._queries = Queries(objects)
        self._requests = [one.requests for one in classes[:0]]
        columns = resource_columns(one.requests for one in classes)
        self._encoder = ClassEncoder(self._static, self._queries, self._requests, columns)
        self._uncounted: list[PodClass] = []
        self._num_counted = 0
        """Queries that have counted the pods."""
        self._nodes: NodeArrays = node_arrays(nodes, {}, columns, self._width, self._sizes)
        self._readings = reading_arrays(nodes, self._width, self._measured)
        self._classes: ClassArrays
        self._tables = self._empty_tables(typical)
        self._state = self._empty_state()
        self._made: ClusterArrays | None = None
        self.add(classes)
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
        state, table, index = self._state, self._classes, pod_class.index
        state.requested[row] += sign * table.request[index]
        state.nonzero_requested[row] += sign * table.nonzero_request[index]
        state.pod_count[row] += sign
        state.keeping[row] += sign * pod_class.keeps_on
        counts, own = state.counts, pod_class.own
        if own is None:
            own = pod_class.own = self._queries.own(index)
        for query, amount in own:
            counts[query, row] += sign * amount

    def set_progress(self, seed: int, step: int, last_node: int) -> None:
        """Set what random ties and round-robin read."""
        state = self._state
        state.seed[...], state.step[...], state.last_node[...] = seed, step % 2**32, last_node

    def book(self, row: int, pods: Sequence[Pod]) -> list[Array]:
        """Book the devices of a node anew: of all its pods that hold GPUs. Return what each holds."""
        used = self._state.gpu_used[row]
        used[...] = 0
        return book_devices(used, self._nodes.gpu_capacity[row], pods)

    def add(self, classes: Sequence[PodClass]) -> list[PodClass]:
        """Add classes, whose pods `compile` counts; return those that have to be compiled again because of them."""
        touched: set[int] = set()
        has_others = bool(self.classes)
        for one in classes:
            one.index, one.is_compiled, one.own = len(self.classes), False, None
            self.classes.append(one)
            self.class_index[one.spec] = one.index
            self._requests.append(one.requests)
            news = self._queries.add(one.spec)
            if has_others and (news.terms or news.ports):
                touched |= self._queries.touched_by(news)
        self._uncounted += classes
        changed = [self.classes[index] for index in touched if self.classes[index].is_compiled]
        for one in changed:
            one.is_compiled = False
        return changed

    def compile(self, classes: Sequence[PodClass]) -> None:
        """Work out where pods of some classes may go, and count the pods of all that were added."""
        news, self._uncounted = self._uncounted, []
        if self._num_counted and not news and not classes:
            return
        num_keys = len(self._encoder.keys)
        self._put_classes(classes, news)
        self._put_rows()
        self._put_queries(news)
        if len(self._encoder.keys) > num_keys:
            domain = domains(self._static.labels, self._encoder.keys, self._width)
            self._nodes = self._nodes._replace(domain=domain)
        self._changed_classes()

    def put_typical(self, pods: Sequence[TypicalPod]) -> None:
        """Take other typical pods."""
        self._made = None
        self._tables = self._tables._replace(**typical_tables(pods, self._static.nodes, self._width))

    def put_nodes(self, nodes: Mapping[str, Node]) -> bool:
        """Put other words for some of the nodes; False = they differ in what only new arrays can hold."""
        static = self._static
        images: set[str] = set()
        had_images, has_other_domains = not static.images.is_empty, False
        for name, node in nodes.items():
            old = static.nodes[self.rows[name]]
            if sizes_of([old]) != sizes_of([node]) or old.gpu_model != node.gpu_model:
                return False
            has_other_domains |= old.labels != node.labels and self._domains_of(old) != self._domains_of(node)
            images |= static.put_node(self.rows[name], node)
        if had_images == static.images.is_empty:
            return False
        self._made = None
        where = [self.rows[name] for name in nodes]
        fresh = node_arrays(list(nodes.values()), {}, self.resource_names, len(where), self._sizes)
        changed = {name: _with_rows(getattr(self._nodes, name), where, getattr(fresh, name)) for name in _BY_NODE}
        self._nodes = self._nodes._replace(**changed)
        if has_other_domains:
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

    def _domains_of(self, node: Node) -> list[str | None]:
        """Return a node's values of the keys that some class, or the features, read."""
        labels = dict(node.labels)
        return [labels.get(key) for key in (ZONE_KEY, *self._encoder.keys)]

    def _renumber(self) -> None:
        """Number the domains again, without gaps, as nodes have other labels."""
        nodes = self._static.nodes
        self._nodes = self._nodes._replace(
            domain=domains(self._static.labels, self._encoder.keys, self._width),
            zone=domains(self._static.labels, {ZONE_KEY: 0}, self._width)[0],
        )
        self._readings = self._readings._replace(zone_near=zone_near(nodes, self._measured, self._width))

    def _put_classes(self, classes: Sequence[PodClass], news: Sequence[PodClass]) -> None:
        """Write what is asked for; pods of new classes that are not compiled may go nowhere until they are."""
        at = [one.index for one in classes]
        if at == list(range(len(self.classes))):
            self._classes = self._encoder.encode(at)
        else:
            table = self._classes if self._num_counted else self._encoder.encode(())
            num_rows = _room_for(len(self.classes), table.request.shape[0])
            self._classes = _scattered(table, self._encoder.encode(at), at, num_rows)
        for one in classes:
            one.is_compiled = True
        others = [one for one in news if not one.is_compiled]
        if others:
            table, where = self._classes, [one.index for one in others]
            requests = [one.requests for one in others]
            table.request[where] = self._encoder.request_rows(requests)
            table.keeps_on[where] = [one.keeps_on for one in others]
            table.nonzero_request[where] = [(r.nonzero_cpu_millis, r.nonzero_memory_bytes) for r in requests]
            closed = self._static.masks.judged("closed", lambda nodes: [0 for _ in nodes])
            for column in table.static_masks.values():
                column[where] = closed

    def _put_queries(self, news: Sequence[PodClass]) -> None:
        """Count the pods that are there: those of new classes, and all of them for queries that are new."""
        amounts, first = self._queries.amounts, self._num_counted
        self._num_counted = stop = len(amounts)
        match, counts = self._tables.match, self._state.counts
        shape = _room_for(stop, match.shape[0]), _room_for(len(self.classes), match.shape[1])
        if shape != match.shape:
            match = _grown(match, shape)
            self._tables = self._tables._replace(match=match)
        if shape[0] != counts.shape[0]:
            self._state = self._state._replace(counts=_grown(counts, (shape[0], self._width)))
        for query in range(first, stop):
            match[query, list(amounts[query])] = list(amounts[query].values())
            for index in amounts[query]:
                self.classes[index].own = None
        if first:
            for one in news:
                one.own = self._queries.own(one.index)
                for query, amount in one.own:
                    match[query, one.index] = amount
        self._count(news, first)

    def _count(self, news: Sequence[PodClass], first: int) -> None:
        """Add the pods of new classes, and for the queries from the first new one on those of the others."""
        state, match, stop = self._state, self._tables.match, self._num_counted
        at = np.array([one.index for one in news], np.intp)
        held = {one.index: self._held(one) for one in news if one.on_nodes}
        if held:
            rows, num_pods = (np.concatenate(parts) for parts in zip(*held.values(), strict=True))
            classes = np.repeat(list(held), [len(each) for each, _ in held.values()])
            np.add.at(state.requested, rows, num_pods[:, None] * self._classes.request[classes])
            np.add.at(state.nonzero_requested, rows, num_pods[:, None] * self._classes.nonzero_request[classes])
            np.add.at(state.pod_count, rows, num_pods)
            np.add.at(state.keeping, rows, num_pods * self._classes.keeps_on[classes])
        queries, classes = match[first:stop].nonzero()
        known, added = match[:first, at].nonzero()
        queries, classes = np.concatenate([first + queries, known]), np.concatenate([classes, at[added]])
        order = np.argsort(classes, kind="stable")
        queries, classes = queries[order], classes[order]
        starts = np.flatnonzero(np.diff(classes, prepend=-1)).tolist()
        # Class by class: few of all queries count a class.
        for start, end in pairwise((*starts, len(classes))):
            one, own = self.classes[classes[start]], queries[start:end]
            if one.on_nodes:
                rows, num_pods = held.get(one.index) or self._held(one)
                state.counts[np.ix_(own, rows)] += match[own, one.index][:, None] * num_pods

    def _put_rows(self) -> None:
        """Write the rows of masks and weights that are new; the lists that they were made as are not kept."""
        static = self._static
        masks = self._with_new_rows(self._tables.masks, static.masks.rows)
        weights = self._with_new_rows(self._tables.weights, static.weights.rows)
        self._tables = self._tables._replace(masks=masks, weights=weights)

    def _with_new_rows(self, table: Array, rows: list[list[int]]) -> Array:
        size = _room_for(len(rows), table.shape[0])
        if size != table.shape[0]:
            table = _grown(table, (size, self._width))
        for row in range(len(rows) - 1, -1, -1):
            if not rows[row]:
                break
            table[row, : len(self.names)] = rows[row]
            if row:  # the first one says how many nodes there are
                rows[row] = []
        return table

    def _held(self, one: PodClass) -> tuple[Array, Array]:
        """Return the rows of the nodes that have pods of a class, and how many."""
        found = {self.rows[name]: count for name, count in one.on_nodes.items() if name in self.rows}
        return np.fromiter(found, np.intp, len(found)), np.fromiter(found.values(), np.int64, len(found))

    def _empty_tables(self, typical: Sequence[TypicalPod]) -> Tables:
        return Tables(
            masks=np.zeros((0, self._width), bool),
            weights=np.zeros((0, self._width), np.int64),
            match=np.zeros((0, 0), np.int32),
            log_size=log_table(self._width + 3),
            **typical_tables(typical, self._static.nodes, self._width),
        )

    def _empty_state(self) -> State:
        width = self._width
        return State(
            requested=np.zeros((width, len(self.resource_names)), np.int64),
            nonzero_requested=np.zeros((width, 2), np.int64),
            pod_count=np.zeros(width, np.int64),
            keeping=np.zeros(width, np.int64),
            counts=np.zeros((0, width), np.int64),
            gpu_used=np.zeros((width, self._sizes[1]), np.int64),
            last_node=np.array(-1, np.int32),
            step=np.array(0, np.uint32),
            seed=np.array(0, np.uint32),
            next_class=np.array(-1, np.int32),
        )


def _room_for(num_rows: int, present: int) -> int:
    """Return how many rows a table is to have: what it needs at first, and something to spare each time it grows."""
    if num_rows <= present:
        return present
    return int(num_rows * _SPARE) + 16 if present else num_rows


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
    if isinstance(table, dict):
        return {name: _scattered(old, rows[name], at, num_rows) for name, old in table.items()}
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
