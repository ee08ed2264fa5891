"""What happened in a live cluster, as a trace: batches of the watch in, a `Recording` out. Pure, no clock.

Only what scheduling reads is kept: requests, constraints, labels, our own annotations. Images, environment, commands
and other annotations are not, so that a trace can be passed on. A pod that ran before the recording began is created
at time 0 and names its node, so that it is there again, and nowhere else, when the trace is played.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from longshore.core.words.labels import Labels
from longshore.core.words.node import Node, NodeReadings
from longshore.core.words.objects import Objects
from longshore.core.words.pod import (
    LATENCY_HARD_ANNOTATIONS,
    LATENCY_SOFT_ANNOTATIONS,
    Container,
    Pod,
    PodSpec,
    Toleration,
)
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.filters.unsupported import find_unsupported
from longshore.kube import annotations, wire
from longshore.kube.cache import Cache, ContextChange, NodeChange, PodChange
from longshore.kube.reflector import WatchBatch
from longshore.kube.resources import DISRUPTION_BUDGETS, PODS, RESOURCES
from longshore.workloads.base import seconds

# Pods that have ended are watched too: only then can one that ended be told from one that was deleted.
WATCHED = tuple(
    each._replace(field_selector="") if each is PODS else each for each in RESOURCES if each is not DISRUPTION_BUDGETS
)
"""The resources that a recording is made from."""

_FINISHED = ("Succeeded", "Failed")
_CLOSED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_POD_ANNOTATIONS = (
    *LATENCY_SOFT_ANNOTATIONS,
    *LATENCY_HARD_ANNOTATIONS,
    annotations.GPU_COUNT,
    annotations.GPU_MILLI,
    annotations.GPU_MODEL,
)
_NODE_ANNOTATIONS = (
    annotations.GPU_COUNT,
    annotations.GPU_MODEL,
    annotations.LATENCY_MS,
    annotations.ZONE_LATENCY_MS,
    annotations.WATTS,
    annotations.COST_PER_HOUR,
    annotations.CARBON_GRAMS_PER_KWH,
)
_EVERYTHING = Toleration(operator="Exists")


class PodBound(NamedTuple):
    """A pod was bound to a node."""

    time: float
    pod: str
    node: str


class PodGone(NamedTuple):
    """A pod holds no room any more."""

    time: float
    pod: str
    is_finished: bool
    """It ended by itself; otherwise it was deleted."""


Happened = Create | PodBound | PodGone | NodeFail | NodeDrain | NodeJoin | LatencyChange


@dataclass(frozen=True)
class Scope:
    """What is recorded; None = all."""

    namespaces: frozenset[str] | None = None
    scheduler_name: str | None = None
    nodes: frozenset[str] | None = None

    def has_pod(self, change: PodChange) -> bool:
        """Say whether a pod belongs to the recording."""
        is_here = self.namespaces is None or change.namespace in self.namespaces
        return is_here and self.scheduler_name in (None, change.scheduler_name)

    def has_node(self, name: str) -> bool:
        """Say whether a node belongs to the recording."""
        return self.nodes is None or name in self.nodes


@dataclass(frozen=True)
class Recording:
    """A trace that the simulator plays, and what really came of it."""

    trace: Trace
    happened: tuple[Happened, ...]
    """In order of time; pods by their names in the trace."""
    remarks: tuple[str, ...] = ()
    """What the trace cannot say, in sentences."""


class Recorder:
    """Takes what the watch says; nothing counts as an event before `start`."""

    def __init__(self, scope: Scope | None = None) -> None:
        self.cache = Cache()
        self.happened: list[Happened] = []
        self.num_bound = 0
        self.waiting: set[str] = set()
        """Pods that have no node yet, by their names in the trace."""
        self._scope = scope or Scope()
        self._is_started = False
        self._finished: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self._absent: set[str] = set()
        self._open: set[str] = set()
        self._latency: dict[str, float | None] = {}
        self._measured: set[str] = set()
        self._names: dict[str, str] = {}
        """Pods that are there: key in the cluster to key in the trace."""
        self._used: set[str] = set()
        self._context: dict[str, dict[tuple[str, ...], Any]] = {}
        self._left_out: dict[str, str] = {}
        self._changed: set[str] = set()
        self._in_use: set[str] = set()
        """Nodes that have had a pod."""
        self._num_cordoned = 0

    def is_synced(self) -> bool:
        """Say whether all first lists are in, so that the recording can start."""
        return self.cache.is_synced(*(resource.kind for resource in WATCHED))

    def start(self) -> None:
        """Take the cluster as it is for time 0."""
        self._is_started = True
        self._merge_context()
        pods = sorted(self.cache.pods(), key=lambda change: (change.created, change.key))
        in_use = {change.bound_to for change in pods if change.pod is not None and self._scope.has_pod(change)}
        for change in sorted(self.cache.nodes(), key=lambda change: change.name):
            node = change.node
            if node is not None and self._scope.has_node(node.name) and (_is_open(node) or node.name in in_use):
                self._nodes[node.name] = _cleaned_node(node)
                self._latency[node.name] = node.readings.latency_ms
                self._open |= {node.name} if _is_open(node) else set()
        for pod in pods:
            self._take_pod(pod, 0.0, is_at_start=True)

    def take(self, batch: WatchBatch, time: float) -> None:
        """Take a batch of the watch that came at that time."""
        for event in batch.events:
            if isinstance(event.object, wire.Pod) and event.object.status.phase in _FINISHED:
                self._finished.add(f"{event.object.metadata.namespace}/{event.object.metadata.name}")
        changes = self.cache.apply(batch)
        if not self._is_started:
            return
        time = seconds(time)
        for change in changes:
            if isinstance(change, PodChange):
                self._take_pod(change, time)
            elif isinstance(change, NodeChange):
                self._take_node(change, time)
        if any(isinstance(change, ContextChange) for change in changes):
            self._merge_context()

    def put_readings(self, readings: Mapping[str, NodeReadings], time: float) -> None:
        """Take what was measured on nodes; from then on it counts, and not what their annotations say."""
        changed = {}
        for name, measured in readings.items():
            self._measured.add(name)
            if name in self._nodes and measured.latency_ms not in (None, self._latency.get(name)):
                changed[name] = self._latency[name] = measured.latency_ms
        self._add_latencies(changed, seconds(time))

    def finish(self, end: float) -> Recording:
        """Return what was recorded up to that time."""
        ends = {one.pod: one for one in self.happened if isinstance(one, PodGone)}
        bound = {one.pod: one.time for one in self.happened if isinstance(one, PodBound)}
        context = {field: tuple(words.values()) for field, words in self._context.items()}
        objects = Objects(word for words in context.values() for word in words)
        dropped: dict[str, str] = {}
        events: list[Event] = []
        for one in self.happened:
            match one:
                case Create(time, pod):
                    needs = find_unsupported(pod, objects)
                    if needs:
                        dropped[pod.key] = f"it uses {needs[0].field}, which longshore does not model"
                        continue
                    gone = ends.get(pod.key)
                    is_finished = gone is not None and gone.is_finished and pod.key in bound
                    lifetime = seconds(gone.time - bound[pod.key]) if gone and is_finished else None
                    events.append(Create(time, pod, lifetime))
                case PodGone(time, key, is_finished):
                    if key not in dropped and not (is_finished and key in bound):
                        events.append(Delete(time, key))
                case PodBound():
                    pass
                case _:
                    events.append(one)
        pods = [event.pod for event in events if isinstance(event, Create)]
        trace = Trace(
            nodes=tuple(self._nodes.values()),
            events=tuple(events),
            absent=frozenset(self._absent),
            end=seconds(end),
        )
        around: dict[str, Any] = _context_of(pods, context)
        trace = replace(trace, **around)
        kept = tuple(one for one in self.happened if _pod_of(one) not in dropped)
        return Recording(trace, kept, tuple(self._remarks(dropped)))

    def _take_pod(self, change: PodChange, time: float, *, is_at_start: bool = False) -> None:
        if change.is_gone:
            self._left_out.pop(change.key, None)
            name = self._names.pop(change.key, None)
            if name is not None:
                self.waiting.discard(name)
                self.happened.append(PodGone(time, name, change.key in self._finished))
            self._finished.discard(change.key)
            return
        if change.pod is None:
            self._left_out[change.key] = change.error or "it cannot be read"
            return
        if not self._scope.has_pod(change):
            return
        if change.key not in self._names:
            pod = _cleaned_pod(change.pod, self._free_name(change.pod))
            if is_at_start and change.bound_to:
                pod = _pinned(pod, change.bound_to)
            self._names[change.key] = pod.key
            self.waiting.add(pod.key)
            self.happened.append(Create(time, pod))
        name = self._names[change.key]
        if change.bound_to and name in self.waiting:
            self.waiting.discard(name)
            self.num_bound += 1
            self._in_use.add(change.bound_to)
            self.happened.append(PodBound(time, name, change.bound_to))

    def _take_node(self, change: NodeChange, time: float) -> None:
        name, node = change.name, change.node
        if not self._scope.has_node(name):
            return
        if node is None:
            if change.error is not None:
                self._left_out[name] = change.error
            if name in self._nodes:
                self._open.discard(name)
                self.happened.append(NodeFail(time, name))
            return
        known = self._nodes.get(name)
        if known is None:
            if not _is_open(node):
                return  # it joins when it takes pods
            self._nodes[name] = known = _cleaned_node(node)
            self._absent.add(name)
            self._latency[name] = node.readings.latency_ms
        if _is_open(node) != (name in self._open):
            self._set_open(name, time, is_open=_is_open(node))
        latency = node.readings.latency_ms
        if name not in self._measured and latency not in (None, self._latency[name]):
            self._latency[name] = latency
            self._add_latencies({name: latency}, time)
        if _what_stays(known) != _what_stays(_cleaned_node(node)):
            if name in self._in_use:
                self._changed.add(name)
            else:  # a new node gets its labels in several steps
                self._nodes[name] = replace(_cleaned_node(node), readings=known.readings)

    def _set_open(self, name: str, time: float, *, is_open: bool) -> None:
        if is_open:
            self._open.add(name)
            self._changed |= set() if _is_open(self._nodes[name]) else {name}  # as it stands in the trace, it is closed
            self.happened.append(NodeJoin(time, name))
        else:
            self._open.discard(name)
            self._num_cordoned += 1
            self.happened.append(NodeDrain(time, name))

    def _add_latencies(self, changed: Mapping[str, float | None], time: float) -> None:
        """Nodes that change at one moment make one event."""
        pairs = tuple((name, latency) for name, latency in changed.items() if latency is not None)
        if not pairs:
            return
        last = self.happened[-1] if self.happened else None
        if isinstance(last, LatencyChange) and last.time == time:
            self.happened[-1] = LatencyChange(time, tuple((dict(last.latency_ms) | dict(pairs)).items()))
        else:
            self.happened.append(LatencyChange(time, pairs))

    def _free_name(self, pod: Pod) -> str:
        """Return a name that no pod of the trace has had: one that came back under its name is another pod."""
        name, number = pod.name, 1
        while f"{pod.namespace}/{name}" in self._used:
            number += 1
            name = f"{pod.name}-{number}"
        self._used.add(f"{pod.namespace}/{name}")
        return name

    def _merge_context(self) -> None:
        """Keep every object that constraints may refer to, also of those that go before the recording ends."""
        for field, words in self.cache.context().items():
            kept = self._context.setdefault(field, {})
            kept.update({_identity(word): word for word in words})

    def _remarks(self, dropped: Mapping[str, str]) -> Iterable[str]:
        left_out = {**self._left_out, **dropped}
        if left_out:
            name, reason = next(iter(left_out.items()))
            yield f"{len(left_out)} objects were left out; the first is `{name}`: {reason}"
        if self._num_cordoned:
            yield (
                f"nodes were cordoned or not ready {self._num_cordoned} times; a trace says `drain` for that, which "
                "takes their pods away, too"
            )
        if self._changed:
            num_changed = len(self._changed)
            yield f"{num_changed} nodes changed labels, taints or resources; the trace has them as they were at first"


def _is_open(node: Node) -> bool:
    return not node.is_unschedulable and not any(taint.key in _CLOSED_TAINTS for taint in node.taints)


def _cleaned_node(node: Node) -> Node:
    return replace(node, annotations=_only(node.annotations, _NODE_ANNOTATIONS), images=())


def _what_stays(node: Node) -> tuple[Any, ...]:
    taints = tuple(taint for taint in node.taints if not taint.key.startswith("node.kubernetes.io/"))
    return node.allocatable, node.labels, taints, node.power, node.cost_per_hour, node.gpu_count


def _cleaned_pod(pod: Pod, name: str) -> Pod:
    spec = pod.spec
    return Pod(
        name=name,
        spec=replace(
            spec,
            containers=_without_images(spec.containers),
            init_containers=_without_images(spec.init_containers),
            is_terminating=False,
        ),
        priority=pod.priority,
        scheduler_name=pod.scheduler_name,
        scheduling_gates=pod.scheduling_gates,
        annotations=_only(pod.annotations, _POD_ANNOTATIONS),
        unmodelled=pod.unmodelled,
    )


def _pinned(pod: Pod, node: str) -> Pod:
    """Let a pod go to its node alone, whatever that node has against newcomers."""
    spec: PodSpec = replace(pod.spec, node_name=node, tolerations=(*pod.spec.tolerations, _EVERYTHING))
    return replace(pod, spec=spec)


def _without_images(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(container._replace(image="") for container in containers)


def _only(labels: Labels, kept: Iterable[str]) -> Labels:
    return tuple(pair for pair in labels if pair[0] in kept)


def _identity(word: Any) -> tuple[str, ...]:
    return getattr(word, "kind", ""), getattr(word, "namespace", ""), word.name


def _pod_of(one: Happened) -> str | None:
    match one:
        case Create(pod=pod):
            return pod.key
        case PodBound(pod=key) | PodGone(pod=key):
            return key
    return None


def _context_of(pods: Iterable[Pod], context: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Keep what the pods can refer to: what lies in their namespaces, and the volumes of claims there."""
    pods = list(pods)
    spaces = {pod.namespace for pod in pods}
    if any(term.namespace_selector or term.namespaces for pod in pods for term in _terms(pod.spec)):
        spaces |= {word.name for word in context.get("namespaces", ())}
    found = {
        field: tuple(word for word in context.get(field, ()) if word.namespace in spaces)
        for field in ("services", "controllers", "claims")
    }
    volumes = {claim.volume_name for claim in found["claims"]}
    found["namespaces"] = tuple(word for word in context.get("namespaces", ()) if word.name in spaces)
    found["volumes"] = tuple(word for word in context.get("volumes", ()) if word.name in volumes)
    return found


def _terms(spec: PodSpec) -> list[Any]:
    wishes = (*spec.preferred_affinity, *spec.preferred_anti_affinity)
    return [*spec.affinity, *spec.anti_affinity, *(wish.term for wish in wishes)]
