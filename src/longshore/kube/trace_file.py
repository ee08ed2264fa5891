"""The trace file: JSON Lines; a header, then the cluster's objects, then one event a line.

The format is described in docs/reference/trace-format.md. Lines in, `Trace` out, whole or not at all: a bad line is
refused with its number and the reason. The objects in it are Kubernetes manifests, read by `convert` and `dump` as
everything else is, and written by `manifest`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from longshore.core.words.errors import InputError, nearest_name
from longshore.core.words.pod import Pod
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.kube import convert, manifest, wire
from longshore.kube.dump import names, read_objects

if TYPE_CHECKING:
    from longshore.core.words.snapshot import Snapshot

FORMAT = "longshore-trace"
VERSION = 1
MAX_NUMBER = 1e12
"""Of times and milliseconds: sums over a trace stay exact to the millisecond, and no product overflows."""
_HEADER_EXAMPLE = f'the first line of a trace is `{{"format":"{FORMAT}","version":{VERSION}}}`'
_NOTHING = msgspec.Raw(b"")


class _FormatAndVersion(msgspec.Struct):
    """What every version's header has."""

    format: str = ""
    version: int = 0


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    end: float | None = None
    comment: str = ""


class _EventName(msgspec.Struct):
    """What says which kind of line it is, where the rest cannot be read."""

    event: str | None = None


class _Line(msgspec.Struct, tag_field="event", forbid_unknown_fields=True, kw_only=True):
    time: float


class _Object(_Line, tag="object", kw_only=True):
    object: msgspec.Raw
    time: float = 0.0
    absent: bool = False


class _Create(_Line, tag="create", kw_only=True):
    pod: msgspec.Raw = _NOTHING
    like: str = ""
    name: str = ""
    uid: str = ""
    lifetime: float | None = None


class _Delete(_Line, tag="delete", kw_only=True):
    pod: str


class _Fail(_Line, tag="fail", kw_only=True):
    node: str


class _Drain(_Line, tag="drain", kw_only=True):
    node: str


class _Join(_Line, tag="join", kw_only=True):
    node: str


class _Latency(_Line, tag="latency", kw_only=True):
    latency_ms: dict[str, float]


_AnyLine = _Object | _Create | _Delete | _Fail | _Drain | _Join | _Latency
_KINDS: dict[str, type[msgspec.Struct]] = {
    "object": _Object,
    "create": _Create,
    "delete": _Delete,
    "fail": _Fail,
    "drain": _Drain,
    "join": _Join,
    "latency": _Latency,
}
_DECODER: msgspec.json.Decoder[_AnyLine] = msgspec.json.Decoder(_AnyLine)
_NODE_EVENTS: dict[type, Callable[[float, str], Event]] = {_Fail: NodeFail, _Drain: NodeDrain, _Join: NodeJoin}


def read_trace(lines: Iterable[bytes]) -> Trace:
    """Read a trace, line by line; empty lines are passed over.

    Raises:
        InputError: a line that cannot be read, is out of order, or names what was not there before it.
    """
    reader: _Reader | None = None
    number = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if reader is None:
                reader = _Reader(_read_header(line))
            else:
                reader.take(line)
        except InputError as error:
            raise InputError(f"line {number}: {error.message}", error.hint) from error
    if reader is None:
        raise InputError(f"line {number + 1}: got the end of the trace, expected its header", _HEADER_EXAMPLE)
    return reader.trace()


def write_trace(trace: Trace) -> Iterator[bytes]:
    """Write a trace, one line at a time, each with its end of line.

    A pod that differs from an earlier one by name alone is written as a reference to it.
    """
    header = {"format": FORMAT, "version": VERSION}
    yield _line(header if trace.end is None else header | {"end": trace.end})
    for item, is_absent in _objects(trace):
        yield _line({"time": 0, "event": "object", "object": item} | ({"absent": True} if is_absent else {}))
    written: dict[Pod, str] = {}
    for event in trace.events:
        yield _line(_event_fields(event, written))


def _objects(trace: Trace) -> Iterator[tuple[manifest.Manifest, bool]]:
    yield from ((manifest.node(node), node.name in trace.absent) for node in trace.nodes)
    yield from ((manifest.namespace(namespace), False) for namespace in trace.namespaces)
    yield from ((manifest.service(service), False) for service in trace.services)
    yield from ((manifest.controller(controller), False) for controller in trace.controllers)
    yield from ((manifest.volume(volume), False) for volume in trace.volumes)
    yield from ((manifest.claim(claim), False) for claim in trace.claims)


def _event_fields(event: Event, written: dict[Pod, str]) -> dict[str, Any]:
    match event:
        case Create(time, pod, lifetime):
            lasting = {} if lifetime is None else {"lifetime": lifetime}
            return {"time": time, "event": "create"} | _pod_fields(pod, written) | lasting
        case Delete(time, key):
            return {"time": time, "event": "delete", "pod": key}
        case NodeFail(time, node):
            return {"time": time, "event": "fail", "node": node}
        case NodeDrain(time, node):
            return {"time": time, "event": "drain", "node": node}
        case NodeJoin(time, node):
            return {"time": time, "event": "join", "node": node}
        case LatencyChange(time, latency_ms):
            return {"time": time, "event": "latency", "latency_ms": dict(latency_ms)}


def _pod_fields(pod: Pod, written: dict[Pod, str]) -> dict[str, Any]:
    nameless = replace(pod, name="", uid="")
    like = written.get(nameless)
    if like is None:
        written[nameless] = pod.key
        return {"pod": manifest.pod(pod)}
    return {"like": like, "name": pod.name} | ({"uid": pod.uid} if pod.uid else {})


def _line(fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def _read_header(line: bytes) -> _Header:
    try:
        head = msgspec.json.decode(line, type=_FormatAndVersion)
    except wire.UNREADABLE as error:
        raise InputError(f"got what is no header: {error}", _HEADER_EXAMPLE) from error
    if head.format != FORMAT:
        raise InputError(f"got the format `{head.format}`, expected `{FORMAT}`", _HEADER_EXAMPLE)
    if head.version != VERSION:
        raise InputError(
            f"got version {head.version} of the format, expected {VERSION}, the only one that is supported",
            "use the release of longshore that wrote the trace, or a newer one",
        )
    try:
        header = msgspec.json.decode(line, type=_Header)
    except msgspec.ValidationError as error:
        raise _refusal(error, _Header) from error
    if header.end is not None:
        _check_number("end", header.end)
    return header


class _Reader:
    """Takes the lines after the header and checks each against those before it."""

    def __init__(self, header: _Header) -> None:
        self._end = header.end
        self._snapshots: list[Snapshot] = []
        self._objects: set[tuple[str, str]] = set()
        self._nodes: set[str] = set()
        self._absent: set[str] = set()
        self._pods: dict[str, Pod] = {}
        self._events: list[Event] = []
        self._time = 0.0

    def take(self, line: bytes) -> None:
        """Read one line."""
        found = _decode_line(line)
        _check_number("time", found.time)
        if found.time < self._time:
            raise InputError(
                f"got time {found.time:g} after {self._time:g}, expected times in order", "sort the lines by time"
            )
        if isinstance(found, _Object):
            self._take_object(found)
            return
        if not self._events and self._end is not None and found.time > self._end:
            raise InputError(
                f"got the first event at {found.time:g}, after the trace's end at {self._end:g}",
                "correct `end` in the header, or leave it out",
            )
        self._time = found.time
        match found:
            case _Create():
                self._events.append(self._create(found))
            case _Delete(time=time, pod=key):
                self._known("pod", key, self._pods)
                self._events.append(Delete(time, key))
            case _Latency():
                self._events.append(self._latency(found))
            case _:
                self._known("node", found.node, self._nodes)
                self._events.append(_NODE_EVENTS[type(found)](found.time, found.node))

    def trace(self) -> Trace:
        """Return all that was read."""

        def joined(field: str) -> tuple[Any, ...]:
            return tuple(word for snapshot in self._snapshots for word in getattr(snapshot, field))

        return Trace(
            nodes=joined("nodes"),
            events=tuple(self._events),
            absent=frozenset(self._absent),
            namespaces=joined("namespaces"),
            services=joined("services"),
            controllers=joined("controllers"),
            volumes=joined("volumes"),
            claims=joined("claims"),
            end=self._end,
        )

    def _take_object(self, found: _Object) -> None:
        if self._events or found.time:
            raise InputError(
                "got an object after time 0 or after an event, expected objects first",
                "move the line up; a node that comes later is an object with `absent` and a `join` event",
            )
        imported = read_objects([found.object])
        if imported.skipped:
            kind = next(iter(imported.skipped))
            raise InputError(f"got `{kind}`, expected an object that scheduling reads", "leave the line out")
        if imported.snapshot.pods:
            raise InputError("got a pod as an object, expected pods in `create` events", 'use `"event":"create"`')
        for kind, name in names(imported.snapshot):
            if (kind, name) in self._objects:
                raise InputError(f"got {kind} `{name}` again, expected it once", "leave one of the lines out")
            self._objects.add((kind, name))
        self._nodes.update(node.name for node in imported.snapshot.nodes)
        if found.absent:
            if not imported.snapshot.nodes:
                raise InputError("got `absent` for an object that is no node", "leave `absent` out")
            self._absent.update(node.name for node in imported.snapshot.nodes)
        self._snapshots.append(imported.snapshot)

    def _create(self, found: _Create) -> Create:
        if bool(found.like) == (found.pod != _NOTHING):
            raise InputError(
                "got " + ("both `pod` and `like`" if found.like else "neither `pod` nor `like`") + ", expected one",
                "`pod` is a manifest; `like` is the `namespace/name` of an earlier pod, with `name` for the new one",
            )
        pod = self._like(found) if found.like else _read_pod(found)
        if pod.key in self._pods:
            raise InputError(f"got pod `{pod.key}` again, expected names that do not repeat", "give it another name")
        if found.lifetime is not None:
            _check_number("lifetime", found.lifetime)
        self._pods[pod.key] = pod
        return Create(found.time, pod, found.lifetime)

    def _like(self, found: _Create) -> Pod:
        self._known("pod", found.like, self._pods)
        if not found.name:
            raise InputError("got `like` without `name`, expected a name for the new pod", "add `name`")
        return replace(self._pods[found.like], name=found.name, uid=found.uid)

    def _latency(self, found: _Latency) -> LatencyChange:
        for node, milliseconds in found.latency_ms.items():
            self._known("node", node, self._nodes)
            _check_number(f"latency_ms of `{node}`", milliseconds)
        return LatencyChange(found.time, tuple(found.latency_ms.items()))

    def _known(self, kind: str, name: str, valid: Collection[str]) -> None:
        if name in valid:
            return
        nearest = nearest_name(name, valid)
        raise InputError(
            f"got {kind} `{name}`, expected one that stands on an earlier line",
            f"did you mean `{nearest}`?" if nearest else f"add the {kind} before it is used",
        )


def _decode_line(line: bytes) -> _AnyLine:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _explain(line, error) from error
    except wire.UNREADABLE as error:
        raise InputError(f"got what is not JSON: {error}", "a line is one JSON object, without line breaks") from error


def _explain(line: bytes, error: msgspec.ValidationError) -> InputError:
    """Say what is wrong with a line, with the nearest valid word."""
    try:
        event = msgspec.json.decode(line, type=_EventName).event
    except wire.UNREADABLE:
        event = None  # wrong in more than one way: the first error says enough
    if event is None:
        return InputError(str(error), "a line is one JSON object with `time` and `event`")
    if event in _KINDS:
        return _refusal(error, _KINDS[event])
    names = ", ".join(f"`{name}`" for name in _KINDS)
    nearest = nearest_name(event, _KINDS)
    return InputError(
        f"got the event `{event}`, expected one of {names}", f"did you mean `{nearest}`?" if nearest else None
    )


def _refusal(error: msgspec.ValidationError, kind: type[msgspec.Struct]) -> InputError:
    names = [field for field in kind.__struct_fields__ if field != "event"]
    return InputError(str(error), "fields of this line: " + ", ".join(f"`{name}`" for name in names))


def _read_pod(found: _Create) -> Pod:
    try:
        head = msgspec.json.decode(found.pod, type=wire.TypeMeta)
        source = msgspec.json.decode(found.pod, type=wire.Pod)
    except wire.UNREADABLE as error:
        raise InputError(f"the pod cannot be read: {error}", "`pod` is a manifest as `kubectl` prints it") from error
    if head.kind not in ("", "Pod"):
        raise InputError(f"got a `{head.kind}` in `pod`, expected a pod", "other objects have lines of their own")
    if not source.metadata.name:
        raise InputError("the pod has no `metadata.name`", "give it a name that no other pod of the trace has")
    if found.name or found.uid:
        raise InputError("got `name` or `uid` beside `pod`, expected them in its metadata", "they belong to `like`")
    # It has still to be placed, even if its manifest names a node: the node is then the only one that it may go to.
    return convert.pod(source, is_incoming=True)


def _check_number(field: str, value: float) -> None:
    if not 0 <= value <= MAX_NUMBER:
        raise InputError(
            f"got {field} {value:g}, expected a finite number of 0 or more, at most {MAX_NUMBER:g}",
            f"correct `{field}`",
        )
