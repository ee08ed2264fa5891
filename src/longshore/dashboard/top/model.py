"""What `longshore top` knows: nodes with what they hold, pods that wait, and placements as they happen.

Pure: changes, readings and decisions come in with their times, rows for the view go out. Sums per node are kept up to
date with every change, so that 5,000 nodes with 50,000 pods cost nothing to show.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from longshore.core.words.decision import Decision
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.resources import CPU, MEMORY, PODS, amount, pod_requests
from longshore.kube.cache import Change, NodeChange, PodChange

KEPT_EVENTS = 1000
"""So many of the newest placements are kept."""
RATE_SECONDS = 60
"""The placements of so many seconds are drawn as a curve."""
DEFAULT_SCHEDULER = "default-scheduler"
_TAINT_WORDS = {
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "unreachable",
    "node.kubernetes.io/memory-pressure": "memory short",
    "node.kubernetes.io/disk-pressure": "disk short",
    "node.kubernetes.io/pid-pressure": "pids short",
    "node.kubernetes.io/network-unavailable": "no network",
}


class SortKey(StrEnum):
    """What nodes can be sorted by."""

    NAME = "name"
    CPU = "CPU"
    MEMORY = "memory"
    PODS = "pods"
    LATENCY = "latency"
    WATTS = "watts"


class EventKind(StrEnum):
    """What a line of the placements tells."""

    PLACED = "placed"
    WAITS = "waits"
    GONE = "gone"


@dataclass(slots=True)
class NodeRow:
    """One node: what it has and what its pods ask for."""

    name: str
    cpu_millis: int = 0
    memory_bytes: int = 0
    max_pods: int = 0
    used_cpu_millis: int = 0
    used_memory_bytes: int = 0
    num_pods: int = 0
    readings: NodeReadings = field(default_factory=NodeReadings)
    state: str = "gone"
    """`ok`, or what is wrong in a word or two; `gone`: only its pods are known."""

    @property
    def is_there(self) -> bool:
        """Say whether the node itself is known, and not only pods that name it."""
        return self.state != "gone"

    @property
    def cpu_ratio(self) -> float:
        """Requested by allocatable CPU."""
        return self.used_cpu_millis / self.cpu_millis if self.cpu_millis else 0.0

    @property
    def memory_ratio(self) -> float:
        """Requested by allocatable memory."""
        return self.used_memory_bytes / self.memory_bytes if self.memory_bytes else 0.0

    @property
    def pod_ratio(self) -> float:
        """Pods by the number that fits."""
        return self.num_pods / self.max_pods if self.max_pods else 0.0


@dataclass(frozen=True, slots=True)
class PlacementEvent:
    """One line of the placements."""

    time_seconds: float
    kind: EventKind
    pod: str
    uid: str = ""
    node: str = ""
    scheduler: str = ""
    message: str = ""
    """Why a pod waits."""
    decision: Decision | None = None
    """What the decision log says about it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The cluster in one line."""

    num_nodes: int
    num_troubled: int
    """Nodes that are cordoned or not ready."""
    num_bound: int
    num_waiting: int
    num_unreadable: int
    cpu_ratio: float
    memory_ratio: float
    pod_ratio: float
    watts: float | None
    """Of the nodes whose power is known."""


@dataclass(slots=True)
class _Held:
    """What a bound pod takes of its node."""

    node: str
    cpu_millis: int
    memory_bytes: int


class Board:
    """All that is known, and the rows to show of it."""

    def __init__(self) -> None:
        self.version = 0
        """Goes up with every change: the view draws only when it differs."""
        self.events: deque[PlacementEvent] = deque(maxlen=KEPT_EVENTS)
        """Placements and pods that wait, newest first."""
        self.waiting: dict[str, str] = {}
        """Pods without a node, each with the reason that was last given."""
        self._rows: dict[str, NodeRow] = {}
        self._held: dict[str, _Held] = {}
        self._unreadable: set[str] = set()
        self._readings: dict[str, NodeReadings] = {}
        self._annotated: dict[str, NodeReadings] = {}
        self._placed_at: deque[float] = deque()

    def apply(self, changes: Iterable[Change], now_seconds: float, *, is_history: bool) -> None:
        """Take changes over.

        Args:
            changes: from `kube.cache`.
            now_seconds: when they were seen, seconds since 1970.
            is_history: they are the first list: what is bound in it was placed before anybody looked.
        """
        for change in changes:
            self.version += 1
            if isinstance(change, NodeChange):
                self._take_node(change)
            elif isinstance(change, PodChange):
                self._take_pod(change, now_seconds, is_history)

    def put_readings(self, readings: Mapping[str, NodeReadings]) -> None:
        """Take what was measured on some nodes."""
        self._readings.update(readings)
        for name in readings:
            self._set_readings(name)
        self.version += bool(readings)

    def num_strangers(self) -> int:
        """Return how many nodes have readings and are not in the cluster: a file of another cluster, perhaps."""
        known = (row for name in self._readings if (row := self._rows.get(name)) is not None and row.is_there)
        return len(self._readings) - sum(1 for _ in known)

    def add_decisions(self, records: Iterable[Decision]) -> None:
        """Put what the decision log says beside the placements that it is about."""
        by_pod = {(record.pod, record.pod_uid): record for record in records}
        if not by_pod:
            return
        self.version += 1
        for index, event in enumerate(self.events):
            record = by_pod.get((event.pod, event.uid))
            if record is not None and _is_about(record, event):
                message = record.pending_reason or event.message
                self.events[index] = replace(event, message=message, decision=record)

    def nodes(self, sort: SortKey = SortKey.NAME, *, is_reversed: bool = False, text: str = "") -> list[NodeRow]:
        """Return the nodes whose names hold the text, in order. Unknown readings come last either way."""
        wanted = text.lower()
        rows = [row for row in self._rows.values() if row.is_there and wanted in row.name.lower()]
        rows.sort(key=lambda row: row.name)
        if sort is SortKey.NAME:
            return rows[::-1] if is_reversed else rows
        # Figures are looked at for their highest: so that is the order that is not reversed.
        sign = 1 if is_reversed else -1
        keyed = [(value is None, sign * (value or 0.0), row) for row in rows for value in [_figure(row, sort)]]
        keyed.sort(key=lambda item: item[:2])
        return [row for _, _, row in keyed]

    def node(self, name: str) -> NodeRow | None:
        """Return one node."""
        return self._rows.get(name)

    def placements(self, text: str = "") -> list[PlacementEvent]:
        """Return the events, newest first, whose pod or node holds the text."""
        wanted = text.lower()
        if not wanted:
            return list(self.events)
        return [event for event in self.events if wanted in event.pod.lower() or wanted in event.node.lower()]

    def totals(self) -> Totals:
        """Sum up the cluster."""
        rows = [row for row in self._rows.values() if row.is_there]
        watts = [row.readings.watts for row in rows if row.readings.watts is not None]
        return Totals(
            num_nodes=len(rows),
            num_troubled=sum(row.state != "ok" for row in rows),
            num_bound=len(self._held),
            num_waiting=len(self.waiting),
            num_unreadable=len(self._unreadable),
            cpu_ratio=_share(sum(r.used_cpu_millis for r in rows), sum(r.cpu_millis for r in rows)),
            memory_ratio=_share(sum(r.used_memory_bytes for r in rows), sum(r.memory_bytes for r in rows)),
            pod_ratio=_share(sum(r.num_pods for r in rows), sum(r.max_pods for r in rows)),
            watts=sum(watts) if watts else None,
        )

    def rate(self, now_seconds: float) -> list[int]:
        """Return the placements of every second of the last minute, the newest last."""
        while self._placed_at and self._placed_at[0] < now_seconds - RATE_SECONDS:
            self._placed_at.popleft()
        counts = [0] * RATE_SECONDS
        for time_seconds in self._placed_at:
            counts[max(0, min(RATE_SECONDS - 1, RATE_SECONDS - 1 - int(now_seconds - time_seconds)))] += 1
        return counts

    def _take_node(self, change: NodeChange) -> None:
        row = self._row(change.name)
        if change.node is None and change.error is None:
            row.state, row.cpu_millis, row.memory_bytes, row.max_pods = "gone", 0, 0, 0
            self._annotated.pop(change.name, None)
            self._forget_empty(change.name)
            return
        if change.node is None:
            row.state = "unreadable"
            return
        room = {name: amount(name, nanos) for name, nanos in change.node.allocatable}
        row.cpu_millis, row.memory_bytes = room.get(CPU, 0), room.get(MEMORY, 0)
        row.max_pods = room.get(PODS, 0)
        row.state = _state(change.node)
        self._annotated[change.name] = change.node.readings
        self._set_readings(change.name)

    def _take_pod(self, change: PodChange, now_seconds: float, is_history: bool) -> None:
        was_waiting = self.waiting.get(change.key)
        was_bound = self._release(change.key)
        self.waiting.pop(change.key, None)
        self._unreadable.discard(change.key)
        if change.is_gone:
            if was_waiting is not None:
                self._add(PlacementEvent(now_seconds, EventKind.GONE, change.key, change.uid))
            return
        if change.error is not None:
            self._unreadable.add(change.key)
        scheduler = change.scheduler_name or DEFAULT_SCHEDULER
        if change.bound_to:
            self._hold(change)
            if not was_bound and not is_history:
                self._placed_at.append(now_seconds)
                placed = (change.key, change.uid, change.bound_to, scheduler)
                self._add(PlacementEvent(now_seconds, EventKind.PLACED, *placed))
            return
        reason = _waiting_reason(change)
        self.waiting[change.key] = reason
        if reason and reason != was_waiting:
            self._add(PlacementEvent(now_seconds, EventKind.WAITS, change.key, change.uid, "", scheduler, reason))

    def _hold(self, change: PodChange) -> None:
        requested = dict(pod_requests(change.pod.spec).amounts) if change.pod is not None else {}
        held = _Held(change.bound_to, requested.get(CPU, 0), requested.get(MEMORY, 0))
        self._held[change.key] = held
        row = self._row(change.bound_to)
        row.num_pods += 1
        row.used_cpu_millis += held.cpu_millis
        row.used_memory_bytes += held.memory_bytes

    def _release(self, key: str) -> bool:
        held = self._held.pop(key, None)
        if held is None:
            return False
        row = self._rows[held.node]
        row.num_pods -= 1
        row.used_cpu_millis -= held.cpu_millis
        row.used_memory_bytes -= held.memory_bytes
        self._forget_empty(held.node)
        return True

    def _row(self, name: str) -> NodeRow:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = NodeRow(name)
        return row

    def _forget_empty(self, name: str) -> None:
        row = self._rows[name]
        if not row.is_there and not row.num_pods:
            del self._rows[name]

    def _set_readings(self, name: str) -> None:
        """Take a source's value before the node's own annotation, reading by reading."""
        row = self._rows.get(name)
        if row is None:
            return
        measured = self._readings.get(name, NodeReadings())
        own = self._annotated.get(name, NodeReadings())
        row.readings = NodeReadings._make(
            second if first in (None, ()) else first for first, second in zip(measured, own, strict=True)
        )

    def _add(self, event: PlacementEvent) -> None:
        self.events.appendleft(event)


def _is_about(record: Decision, event: PlacementEvent) -> bool:
    if event.kind is EventKind.PLACED:
        return record.node == event.node
    return event.kind is EventKind.WAITS and record.node is None


def _state(node: Node) -> str:
    words = [_TAINT_WORDS[taint.key] for taint in node.taints if taint.key in _TAINT_WORDS]
    if words:
        return words[0]
    return "cordoned" if node.is_unschedulable else "ok"


def _waiting_reason(change: PodChange) -> str:
    if change.error is not None:
        return change.error
    if change.pod is not None and change.pod.scheduling_gates:
        return "gated by " + ", ".join(change.pod.scheduling_gates)
    return next((one.message or one.reason for one in change.conditions if one.type == "PodScheduled"), "")


def _figure(row: NodeRow, sort: SortKey) -> float | None:
    match sort:
        case SortKey.CPU:
            return row.cpu_ratio
        case SortKey.MEMORY:
            return row.memory_ratio
        case SortKey.PODS:
            return float(row.num_pods)
        case SortKey.LATENCY:
            return row.readings.latency_ms
        case SortKey.WATTS:
            return row.readings.watts
    return None


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
