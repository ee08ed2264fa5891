"""What is measured after a step."""

import jax.numpy as jnp
import numpy as np

from longshore.core.words.trace import Create, LatencyChange, Trace
from longshore.filters import filter_set
from longshore.policies import REGISTRY
from longshore.simulator.play import compile_traces, play
from support.builders import make_node, make_pod

NODES = tuple(make_node(name).cpu("4").readings(latency_ms=10.0).build() for name in ("a", "b"))


def measured(*events):
    return play(compile_traces([Trace(NODES, events)]), [REGISTRY.load("first-fit")])


def test_a_placement_beyond_the_true_limit_is_counted_and_one_within_is_not():
    pods = [make_pod(name).cpu("1").latency(20.0, 30.0).build() for name in ("p", "q")]
    found = measured(Create(1.0, pods[0]), LatencyChange(2.0, (("a", 40.0),)), Create(3.0, pods[1]))
    assert found.latency_ms[0, 0, [0, 2]].tolist() == [10.0, 40.0]
    assert found.is_beyond_limit[0, 0, :3].tolist() == [False, False, True]
    assert np.isnan(found.latency_ms[0, 0, 1])


def test_variance_is_that_of_the_cpu_ratio_over_nodes():
    found = measured(Create(1.0, make_pod("p").cpu("2").build()))
    assert found.cpu_variance[0, 0, 0] == np.var([0.5, 0.0])


def test_waiting_and_running_pods_are_counted():
    pods = [Create(float(i), make_pod(f"p{i}").cpu("3").build()) for i in range(3)]
    found = measured(*pods)
    assert found.running[0, 0, :3].tolist() == [1, 2, 2]
    assert found.waiting[0, 0, :3].tolist() == [0, 0, 1]
    assert jnp.asarray(found.pods_per_node).dtype == jnp.int32


def test_a_latency_change_makes_a_reading_known():
    unread = (make_node("a").cpu("4").build(),)
    pod = make_pod("p").cpu("1").latency(20.0, 30.0).build()
    trace = Trace(unread, (LatencyChange(1.0, (("a", 5.0),)), Create(2.0, pod)))
    found = play(compile_traces([trace]), [REGISTRY.load("first-fit")], filters=filter_set("upstream+latency"))
    assert found.outcome.node[0, 0, 1] == 0
    assert found.latency_ms[0, 0, 1] == 5.0
