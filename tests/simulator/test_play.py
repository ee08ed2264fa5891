"""Playing many traces under many policies at once."""

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, Trace
from longshore.objectives.weighted import parse_objective
from longshore.policies import REGISTRY
from longshore.simulator.params import Kind
from longshore.simulator.play import compile_traces, play, stack
from support.builders import make_node, make_pod

NODES = tuple(make_node(name).cpu("4").power(100, 200).build() for name in ("a", "b"))


def trace(pods: int) -> Trace:
    return Trace(NODES, tuple(Create(float(i), make_pod(f"p{i}").cpu("1").build(), 10.0) for i in range(pods)))


def test_play_ends_every_trace_and_measures_it():
    seen: list[tuple[int, int]] = []
    policies = [REGISTRY.load(name) for name in ("most-allocated", "round-robin")]
    measured = play(
        compile_traces([trace(2), trace(4)]), policies, parse_objective("watts"), progress=lambda *p: seen.append(p)
    )
    assert measured.outcome.kind.shape[:2] == (2, 2)
    assert (measured.outcome.kind[:, :, -1] == Kind.IDLE).all()
    assert seen[-1] == (4, 4)
    # Four pods on four cores: packed on one node, or two and two.
    assert measured.active_nodes[:, 1].max(axis=1).tolist() == [1, 2]
    assert measured.pods_per_node[0, 1].max(axis=0).tolist() == [4, 0]
    assert measured.watts_idle_on[0, 1].max() == 300.0
    assert measured.reward[0, 0, 0] == pytest.approx(-225.0)


def test_play_goes_on_after_the_first_chunk():
    measured = play(compile_traces([trace(300)]), [REGISTRY.load("first-fit")])
    left = (measured.outcome.kind == Kind.DEPART).sum()
    assert measured.outcome.kind.shape[2] > 256
    assert left == 300


def test_stack_fills_smaller_tables_up():
    port = make_pod("x").host_port(80).build()
    small, large = compile_traces([trace(1), Trace(NODES, (Create(0.0, port), Create(1.0, make_pod("y").build())))])
    stacked = stack([small.params, large.params])
    assert stacked.cluster.classes.ports.shape == (2, 2, 1)
    np.testing.assert_array_equal(stacked.pod_class[1], large.params.pod_class)


def test_compile_traces_refuses_power_curves_that_cannot_be_stacked():
    three_points = Trace((make_node("c").power(1, 2, 3).build(),), trace(1).events)
    with pytest.raises(InputError, match="numbers of points"):
        compile_traces([trace(1), three_points])


def test_compile_traces_refuses_a_trace_without_pods():
    with pytest.raises(InputError, match="creates no pod"):
        compile_traces([trace(1), Trace(NODES, ())])
