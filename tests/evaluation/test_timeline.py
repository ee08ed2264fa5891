"""What happens in a trace whoever schedules."""

import numpy as np

from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeDrain, NodeFail, NodeJoin, Trace
from longshore.evaluation.timeline import Departure, happenings, timeline, window
from longshore.simulator.params import compile_trace
from support.builders import make_node, make_pod

NODES = tuple(make_node(name).build() for name in ("a", "b"))


def make_trace(*events: Event, end: float | None = None, absent: frozenset[str] = frozenset()) -> Trace:
    return Trace(NODES, events, absent, end=end)


def create(time: float, name: str, lifetime: float | None = None) -> Create:
    return Create(time, make_pod(name).cpu(100).build(), lifetime)


def test_window_is_from_the_first_event_to_the_end() -> None:
    assert window(make_trace(create(2.0, "p"), end=9.0)) == (2.0, 9.0)
    assert window(make_trace(create(2.0, "p", 3.0), create(4.0, "q", 0.5))) == (2.0, 5.0)
    assert window(make_trace(create(2.0, "p"), Delete(6.0, "default/p"))) == (2.0, 6.0)
    assert window(make_trace()) == (0.0, 0.0)


def test_pods_leave_before_anything_else_of_the_moment() -> None:
    found = list(happenings(make_trace(create(0.0, "p", 3.0), create(1.0, "q", 1.0), create(3.0, "r", 1.0))))
    assert [type(event).__name__ for event in found] == [
        "Create",
        "Create",
        "Departure",
        "Departure",
        "Create",
        "Departure",
    ]
    assert found[2] == Departure(2.0, "default/q") and found[-1] == Departure(4.0, "default/r")


def test_counts_follow_creations_and_departures() -> None:
    trace = make_trace(
        create(0.0, "p", 4.0), create(1.0, "q"), Delete(2.0, "default/q"), Delete(3.0, "default/q"), end=6.0
    )
    moments = timeline(compile_trace(trace))
    (part, counts), *rest = moments.counts(np.array([0, 1]), 2)
    assert rest == [] and part == slice(0, len(moments.time))
    assert moments.time.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert moments.seconds.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert counts.tolist() == [[1, 0], [1, 1], [1, 0], [1, 0], [0, 0]]


def test_pods_of_no_group_are_not_counted() -> None:
    moments = timeline(compile_trace(make_trace(create(0.0, "p"), create(1.0, "q"), end=2.0)))
    ((_, counts),) = moments.counts(np.array([-1, 0]), 1)
    assert counts.tolist() == [[0], [1]]


def test_counts_are_the_same_in_many_parts() -> None:
    events = [create(float(i), f"p{i}", 700.5) for i in range(1200)]
    moments = timeline(compile_trace(make_trace(*events)))
    counted = np.concatenate([counts for _, counts in moments.counts(np.zeros(1200, np.int64), 1)])[:, 0]
    want = [sum(start <= time < start + 700.5 for start in range(1200)) for time in moments.time]
    assert counted.tolist() == want


def test_nodes_come_and_go() -> None:
    trace = make_trace(
        LatencyChange(0.0, (("a", 5.0),)),
        NodeJoin(1.0, "b"),
        NodeDrain(2.0, "a"),
        NodeFail(3.0, "b"),
        NodeJoin(4.0, "a"),
        end=5.0,
        absent=frozenset({"b"}),
    )
    moments = timeline(compile_trace(trace))
    assert moments.is_up.tolist() == [[1, 0], [1, 1], [1, 1], [1, 0], [1, 0]]
    assert moments.takes_pods.tolist() == [[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]]


def test_what_comes_after_the_end_is_left_out() -> None:
    moments = timeline(compile_trace(make_trace(create(0.0, "p", 9.0), create(5.0, "q"), end=4.0)))
    assert moments.time.tolist() == [0.0] and moments.seconds.tolist() == [4.0]
    assert moments.change_pod.tolist() == [0]
