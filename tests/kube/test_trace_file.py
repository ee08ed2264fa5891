"""Tests of the trace file: what is read, what is refused with its line, and what writing saves."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.core.words.errors import InputError
from longshore.core.words.pod import Pod, PodSpec
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.kube.trace_file import read_trace, write_trace
from longshore.workloads.machines import make_node

HEADER = {"format": "longshore-trace", "version": 1}
NODE = {"time": 0, "event": "object", "object": {"kind": "Node", "metadata": {"name": "a"}}}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
CREATE = {"time": 1, "event": "create", "pod": POD}


def lines(*items: Any) -> list[bytes]:
    return [item if isinstance(item, bytes) else json.dumps(item).encode() for item in items]


def read(*items: Any) -> Trace:
    return read_trace(lines(HEADER, *items))


def test_a_header_alone_is_an_empty_trace() -> None:
    assert read() == Trace((), ())


def test_every_event_is_read() -> None:
    trace = read(
        NODE,
        CREATE | {"lifetime": 2.5},
        {"time": 2, "event": "latency", "latency_ms": {"a": 7}},
        {"time": 3, "event": "drain", "node": "a"},
        {"time": 3, "event": "join", "node": "a"},
        {"time": 4, "event": "fail", "node": "a"},
        {"time": 5, "event": "delete", "pod": "default/p"},
    )
    created, *others = trace.events
    assert isinstance(created, Create)
    assert (created.time, created.pod.key, created.lifetime) == (1.0, "default/p", 2.5)
    assert others == [
        LatencyChange(2.0, (("a", 7.0),)),
        NodeDrain(3.0, "a"),
        NodeJoin(3.0, "a"),
        NodeFail(4.0, "a"),
        Delete(5.0, "default/p"),
    ]


def test_objects_of_all_kinds_keep_their_order() -> None:
    kinds = ["Namespace", "StatefulSet", "Service", "ReplicaSet", "PersistentVolume", "PersistentVolumeClaim"]
    items = [{"event": "object", "object": {"kind": kind, "metadata": {"name": kind.lower()}}} for kind in kinds]
    trace = read(*items, NODE)
    assert [controller.kind for controller in trace.controllers] == ["StatefulSet", "ReplicaSet"]
    found = (trace.nodes, trace.namespaces, trace.services, trace.volumes, trace.claims)
    assert [len(words) for words in found] == [1] * 5


def test_absent_nodes_and_the_end_are_read() -> None:
    trace = read_trace(lines(HEADER | {"end": 9.5, "comment": "by hand"}, NODE | {"absent": True}))
    assert (trace.absent, trace.end) == (frozenset({"a"}), 9.5)


def test_a_pod_like_another_differs_by_name_alone() -> None:
    like = {"time": 2, "event": "create", "like": "default/p", "name": "q", "uid": "u"}
    first, second = (event.pod for event in read(CREATE, like).events if isinstance(event, Create))
    assert (second.name, second.uid) == ("q", "u")
    assert second.spec == first.spec


def test_a_pod_like_a_like_is_read() -> None:
    chain = [{"time": 2, "event": "create", "like": f"default/{a}", "name": b} for a, b in ("pq", "qr")]
    assert len({event.pod.spec for event in read(CREATE, *chain).events if isinstance(event, Create)}) == 1


def test_a_pod_that_names_a_node_still_has_to_be_placed() -> None:
    pinned = {"time": 0, "event": "create", "pod": {"metadata": {"name": "p"}, "spec": {"nodeName": "a"}}}
    (event,) = read(NODE, pinned).events
    assert isinstance(event, Create)
    assert (event.pod.bound_to, event.pod.spec.node_name) == ("", "a")


def test_empty_lines_are_passed_over_and_counted() -> None:
    with pytest.raises(InputError, match=r"^line 5: "):
        read_trace(lines(b"", HEADER, b"  \n", NODE, b"{"))


OBJECT = {"time": 0, "event": "object"}
BAD: list[Any] = [
    pytest.param(b"{", "got what is not JSON", id="not JSON"),
    pytest.param(b"\xff", "got what is not JSON", id="not text"),
    pytest.param(b'{"time":1,"event":"create","pod":' + b"[" * 100_000, "not JSON", id="nesting without end"),
    pytest.param([], "Expected `object`, got `array`", id="no object"),
    pytest.param({"time": 1}, "Object missing required field `event`", id="no event"),
    pytest.param({"event": "fail", "node": "a"}, "missing required field `time`", id="no time"),
    pytest.param({"time": 1, "event": ["fail"]}, "Expected `str`", id="an event that is no text"),
    pytest.param(CREATE | {"event": "creat"}, r"(?s)got the event `creat`.*did you mean `create`", id="a slip"),
    pytest.param(CREATE | {"lifetme": 1}, r"(?s)unknown field `lifetme`.*`lifetime`", id="an unknown field"),
    pytest.param(CREATE | {"time": "1"}, r"Expected `float`, got `str` - at `\$.time`", id="a wrong type"),
    pytest.param(CREATE | {"time": 1e308}, r"got time 1e\+308, expected .* at most 1e\+12", id="a time after all"),
    pytest.param(CREATE | {"time": -1}, "got time -1, expected a finite number of 0 or more", id="a time before all"),
    pytest.param(b'{"time":1e999,"event":"fail","node":"a"}', "Number out of range", id="no finite time"),
    pytest.param(CREATE | {"time": 0.5}, "got time 0.5 after 1, expected times in order", id="out of order"),
    pytest.param(CREATE, "got pod `default/p` again", id="a pod twice"),
    pytest.param(
        {"time": 1, "event": "create", "like": "default/p", "name": "q", "lifetime": -1},
        "got lifetime -1",
        id="a lifetime below 0",
    ),
    pytest.param({"time": 1, "event": "create"}, "neither `pod` nor `like`", id="no pod"),
    pytest.param(CREATE | {"like": "default/p", "name": "q"}, "both `pod` and `like`", id="two pods"),
    pytest.param(CREATE | {"name": "q"}, "got `name` or `uid` beside `pod`", id="a name beside a pod"),
    pytest.param(
        {"time": 1, "event": "create", "like": "default/pp", "name": "q"},
        r"(?s)got pod `default/pp`.*did you mean `default/p`",
        id="like a pod that is not there",
    ),
    pytest.param({"time": 1, "event": "create", "like": "default/p"}, "`like` without `name`", id="like, nameless"),
    pytest.param({"time": 1, "event": "create", "pod": {}}, "no `metadata.name`", id="a pod without a name"),
    pytest.param({"time": 1, "event": "create", "pod": 7}, "the pod cannot be read: Expected `object`", id="no pod"),
    pytest.param({"time": 1, "event": "create", "pod": {"kind": "Node"}}, "a `Node` in `pod`", id="no pod but a node"),
    pytest.param(
        {"time": 1, "event": "create", "pod": {"metadata": {"name": "q"}, "spec": {"overhead": {"cpu": "x"}}}},
        r"Pod `default/q`: field `spec.overhead.cpu`: `x` is not a quantity",
        id="a bad quantity",
    ),
    pytest.param({"time": 1, "event": "delete", "pod": "q"}, "got pod `q`", id="deletion of none"),
    pytest.param({"time": 1, "event": "fail", "node": "b"}, "got node `b`", id="failure of none"),
    pytest.param({"time": 1, "event": "latency", "latency_ms": {"b": 1}}, "got node `b`", id="latency of none"),
    pytest.param(
        {"time": 1, "event": "latency", "latency_ms": {"a": -1}}, "got latency_ms of `a` -1", id="latency below 0"
    ),
    pytest.param(NODE | {"time": 1}, "got an object after time 0 or after an event", id="an object too late"),
]


@pytest.mark.parametrize(("line", "want"), BAD)
def test_a_bad_line_is_refused_with_its_number_and_reason(line: Any, want: str) -> None:
    with pytest.raises(InputError, match=want) as caught:
        read(NODE, CREATE, line)
    assert caught.value.message.startswith("line 4: ")
    assert caught.value.exit_code == 2


BAD_OBJECTS: list[Any] = [
    pytest.param(NODE, "got Node `a` again", id="a node twice"),
    pytest.param(
        OBJECT | {"object": {"kind": "Node", "apiVersion": "longhorn.io/v1", "metadata": {"name": "b"}}},
        r"got `Node \(longhorn.io\)`, expected an object that",
        id="a kind of another group",
    ),
    pytest.param(OBJECT | {"object": {"kind": "ConfigMap"}}, "got `ConfigMap`, expected an object that", id="a kind"),
    pytest.param(OBJECT | {"object": {"kind": "Pod"} | POD}, "pods in `create` events", id="a pod"),
    pytest.param(OBJECT | {"object": {"kind": "Node"}}, "field `metadata.name`: is missing", id="a nameless node"),
    pytest.param(OBJECT | {"object": 7}, "Expected `object`, got `int`", id="no object"),
    pytest.param(
        OBJECT | {"absent": True, "object": {"kind": "Namespace", "metadata": {"name": "x"}}},
        "got `absent` for an object that is no node",
        id="absent, and no node",
    ),
]


@pytest.mark.parametrize(("line", "want"), BAD_OBJECTS)
def test_a_bad_object_is_refused_with_its_number_and_reason(line: Any, want: str) -> None:
    with pytest.raises(InputError, match=f"^line 3: .*{want}"):
        read(NODE, line)


def test_an_object_of_any_kind_may_stand_once_only() -> None:
    service = OBJECT | {"object": {"kind": "Service", "metadata": {"name": "s", "namespace": "x"}}}
    with pytest.raises(InputError, match=r"^line 3: got Service `x/s` again, expected it once"):
        read(service, service)


BAD_HEADERS: list[Any] = [
    pytest.param([], "line 1: got the end of the trace, expected its header", id="nothing"),
    pytest.param([b"{"], "line 1: got what is no header", id="no JSON"),
    pytest.param([{"kind": "List"}], "line 1: got the format ``, expected `longshore-trace`", id="a dump"),
    pytest.param([NODE], "line 1: got the format ``", id="no header"),
    pytest.param([HEADER | {"version": 2, "new": 1}], "line 1: got version 2 of the format, expected 1", id="version"),
    pytest.param([HEADER | {"ende": 1}], "line 1: Object contains unknown field `ende`", id="a slip"),
    pytest.param([HEADER | {"end": -1}], "line 1: got end -1", id="an end before all"),
    pytest.param(
        [HEADER | {"end": 0.5}, NODE, CREATE],
        "line 3: got the first event at 1, after the trace's end",
        id="an early end",
    ),
]


@pytest.mark.parametrize(("items", "want"), BAD_HEADERS)
def test_a_bad_header_is_refused(items: list[Any], want: str) -> None:
    with pytest.raises(InputError, match=want) as caught:
        read_trace(lines(*items))
    assert caught.value.hint is not None


def test_equal_pods_are_written_once() -> None:
    spec = PodSpec(labels=(("app", "web"),))
    pods = [Pod("p", spec), Pod("q", spec), Pod("r", spec, uid="u"), Pod("s", spec, priority=1)]
    trace = Trace((), tuple(Create(float(i), pod) for i, pod in enumerate(pods)))
    written = list(write_trace(trace))
    assert [json.loads(line).get("like") for line in written[1:]] == [None, "default/p", "default/p", None]
    assert read_trace(written) == trace


def test_a_line_ends_and_has_no_other_line_in_it() -> None:
    trace = Trace((make_node("a", cpu=1, memory_mib=1, labels={"x": "a\nb"}),), (), absent=frozenset({"a"}))
    written = list(write_trace(trace))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)
    assert read_trace(b"".join(written).splitlines()) == trace


@given(st.lists(st.floats(0, 1e12)).map(sorted), st.floats(0, 1e12))
def test_times_keep_every_bit(times: list[float], end: float) -> None:
    events = tuple(Create(time, Pod(f"p{i}"), time) for i, time in enumerate(times))
    trace = Trace((), events, end=max([end, *times[:1]]))
    assert read_trace(write_trace(trace)) == trace


def test_the_example_in_the_docs_is_a_trace() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "trace-format.md").read_text(encoding="utf-8")
    example = page.partition("```jsonl\n")[2].partition("```")[0]
    trace = read_trace(example.encode().splitlines())
    assert (len(trace.nodes), len(trace.events), trace.end) == (2, 8, 120.0)
    assert {type(event) for event in trace.events} == {Create, Delete, NodeFail, NodeDrain, NodeJoin, LatencyChange}
