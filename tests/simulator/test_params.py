"""Compiling a trace: shapes, padding, latency rows and refusals."""

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Delete, Event, LatencyChange, NodeFail, Trace
from longshore.simulator.params import Kind, compile_trace
from support.builders import make_node, make_pod

NODES = (make_node("a").cpu("4").readings(latency_ms=10.0).build(), make_node("b").cpu("4").build())
POD, OTHER = make_pod("p").cpu("1").build(), make_pod("q").cpu("1").build()


def test_compile_trace_writes_events_in_order():
    events = (Create(1.0, POD, 5.0), LatencyChange(2.0, (("b", 7.0),)), Delete(3.0, POD.key), NodeFail(4.0, "b"))
    params = compile_trace(Trace(NODES, events)).params
    assert params.event_kind.tolist() == [Kind.CREATE, Kind.LATENCY, Kind.DELETE, Kind.FAIL]
    assert params.event_node.tolist() == [0, 0, 0, 1]
    assert params.pod_lifetime.tolist() == [5.0]


def test_compile_trace_keeps_the_latency_of_nodes_that_do_not_change():
    events = (LatencyChange(1.0, (("b", 7.0),)), LatencyChange(2.0, (("a", 3.0),)))
    params = compile_trace(Trace(NODES, (Create(0.0, POD), *events))).params
    np.testing.assert_array_equal(params.latency_ms, [[10.0, np.nan], [10.0, 7.0], [3.0, 7.0]])
    assert params.event_row.tolist() == [0, 1, 2]


def test_compile_trace_pads_to_the_sizes_that_are_asked_for():
    params = compile_trace(Trace(NODES, (Create(1.0, POD),)), padded_nodes=8, padded_pods=4, padded_events=16).params
    assert params.is_present.tolist() == [True, True] + [False] * 6
    assert params.event_time.shape == (16,)
    assert np.isinf(params.event_time[1:]).all()
    assert params.pod_class.shape == (4,)


def test_compile_trace_gives_equal_pods_one_class():
    params = compile_trace(Trace(NODES, (Create(1.0, POD), Create(2.0, OTHER)))).params
    assert params.pod_class.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("events", "want"),
    [
        pytest.param((Create(2.0, POD), Create(1.0, OTHER)), "event 1: time 1.0 comes after 2.0", id="out of order"),
        pytest.param((Create(float("nan"), POD),), "event 0: time nan", id="no number"),
        pytest.param((Create(0.0, POD), Delete(1.0, "default/x")), "deletes `default/x`", id="unknown pod"),
        pytest.param((Delete(0.0, POD.key), Create(1.0, POD)), "not created before it", id="deleted too early"),
        pytest.param((Create(0.0, POD), NodeFail(1.0, "c")), "names the node `c`", id="unknown node"),
        pytest.param(
            (Create(0.0, POD), LatencyChange(1.0, (("c", 1.0),))), "names the node `c`", id="latency of an unknown node"
        ),
        pytest.param((Create(1.0, POD), Create(2.0, POD)), "created twice", id="one pod twice"),
    ],
)
def test_compile_trace_refuses_a_trace_that_cannot_be_played(events: tuple[Event, ...], want: str):
    with pytest.raises(InputError, match=want):
        compile_trace(Trace(NODES, events))


def test_compile_trace_refuses_a_trace_without_nodes_and_a_lag_that_is_none():
    with pytest.raises(InputError, match="has no node"):
        compile_trace(Trace((), (Create(1.0, POD),)))
    with pytest.raises(InputError, match="lag of inf"):
        compile_trace(Trace(NODES, (Create(1.0, POD),)), lag_seconds=float("inf"))


def test_compile_trace_takes_any_seed():
    assert int(compile_trace(Trace(NODES, (Create(1.0, POD),)), seed=2**32 + 5).params.cluster.state.seed) == 5
