"""Reading a trace of identical pods as moves, and what is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from evaluation.cases import clearing_trace, rolling_trace
from longshore.core.arrays.queries import ZONE_KEY
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeFail, Trace
from longshore.evaluation.identical import MoveKind, make_identical
from longshore.objectives.user import UserTerm
from longshore.objectives.weighted import Weighted
from longshore.simulator.params import Compiled, compile_trace
from support.builders import PodBuilder, make_node, make_pod

NODES = tuple(make_node(name).readings(latency_ms=10.0).build() for name in ("a", "b"))


def test_pods_that_leave_together_are_one_move() -> None:
    problem = make_identical(compile_trace(clearing_trace(0)), None)
    come, clear = MoveKind.COME, MoveKind.CLEAR
    assert [move.kind for move in problem.moves] == [come, come, come, clear, come, come]
    assert [move.seconds for move in problem.moves] == [0.0, 1.0, 1.0, 8.0, 2.0, 1.0]
    assert problem.last_seconds == 7.0 and problem.seconds == 20.0
    assert not problem.has_single_leaving


def test_pods_that_leave_one_by_one_are_named() -> None:
    pods = [make_pod(name).cpu(100).build() for name in ("p", "q", "r")]
    trace = Trace(
        NODES,
        (
            Create(0.0, pods[0], 3.0),
            LatencyChange(0.5, (("a", 40.0),)),
            Create(1.0, pods[1]),
            Create(2.0, pods[2]),
            Delete(5.0, "default/p"),
            Delete(6.0, "default/r"),
        ),
        end=6.0,
    )
    problem = make_identical(compile_trace(trace), None)
    assert [(int(move.kind), move.pod) for move in problem.moves] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    assert [move.latency_ms.tolist() for move in problem.moves[:2]] == [[10.0, 10.0], [40.0, 10.0]]
    assert problem.has_single_leaving and problem.last_seconds == 0.0


def test_rolling_traces_have_single_leaving() -> None:
    assert make_identical(compile_trace(rolling_trace(0)), None).has_single_leaving


def test_nodes_that_differ_in_their_names_only_are_alike() -> None:
    nodes = (*NODES, make_node("c").cpu(8000).build(), make_node("d").readings(latency_ms=10.0).build())
    trace = Trace(nodes, (Create(0.0, make_pod("p").cpu(100).build()), LatencyChange(1.0, (("d", 5.0),))))
    problem = make_identical(compile_trace(trace), None)
    assert [group.tolist() for group in problem.alike] == [[0, 1]]
    ordered, column = problem.canonical(np.array([[1, 5, 9, 9], [5, 1, 0, 2], [3, 3, 1, 1]]))
    assert ordered.tolist() == [[5, 1, 9, 9], [5, 1, 0, 2], [3, 3, 1, 1]]
    assert column.tolist() == [[1, 0, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]


def test_nodes_of_different_zones_are_alike() -> None:
    ways = {"a": (("y", 1.8),), "b": (("x", 1.8),)}
    zones = {"a": "x", "b": "y"}
    nodes = tuple(make_node(n).label(ZONE_KEY, zones[n]).readings(zone_latency_ms=ways[n]).build() for n in "ab")
    problem = make_identical(compile_trace(Trace(nodes, (Create(0.0, make_pod("p").cpu(100).build()),))), None)
    assert [group.tolist() for group in problem.alike] == [[0, 1]]


POD = make_pod("p").build()


def refused(*pods: PodBuilder) -> Compiled:
    return compile_trace(Trace(NODES, tuple(Create(0.0, pod.build()) for pod in pods)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: refused(make_pod("p").cpu(100), make_pod("q").cpu(200)), "2 different requests"),
        (lambda: refused(make_pod("p").latency(1.0, 2.0), make_pod("q")), "2 different latency limits"),
        (lambda: refused(make_pod("p").host_port(80)), "constraints about other pods"),
        (lambda: refused(make_pod("p").gpu(1)), "ask for GPUs"),
        (lambda: refused(make_pod("p"), make_pod("q").node_selector("x", "y")), "2 different allowed nodes"),
        (refused, "no pods"),
        (lambda: compile_trace(Trace(NODES, (Create(0.0, POD), NodeFail(1.0, "a")))), "nodes fail"),
    ],
)
def test_other_traces_are_refused(make: Callable[[], Compiled], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_identical(make(), None)


def test_terms_of_the_users_own_are_refused() -> None:
    term = UserTerm("mine", lambda step: step.after.state.last_node * 1.0)
    with pytest.raises(InputError, match="user's own"):
        make_identical(compile_trace(clearing_trace(0)), Weighted(((1.0, term),)))
