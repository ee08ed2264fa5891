"""The packing problem as read from a trace."""

import numpy as np

from longshore.core.words.trace import Create, Trace
from longshore.evaluation.packing import make_packing, power_lines
from longshore.simulator.params import compile_trace
from support.builders import make_node, make_pod


def test_pods_that_pack_alike_share_a_group() -> None:
    pods = [
        make_pod("a").cpu(500).label("app", "x"),
        make_pod("b").cpu(500).label("app", "y"),
        make_pod("c").cpu(500).node_selector("disk", "ssd"),
        make_pod("huge").cpu(9000),
    ]
    nodes = (make_node("n").cpu(4000).build(), make_node("m").cpu(2000).label("disk", "ssd").build())
    trace = Trace(nodes, tuple(Create(0.0, pod.build()) for pod in pods))
    packing = make_packing(compile_trace(trace))
    first, second, confined, huge = packing.group_of_pod
    assert first == second != confined and huge == -1
    assert packing.allowed[first].tolist() == [True, True] and packing.allowed[confined].tolist() == [False, True]
    assert packing.capacity[:, 0].tolist() == [4000, 2000] and packing.capacity[:, -1].tolist() == [110, 110]
    assert packing.request[first, 0] == 500 and packing.request[first, -1] == 1
    assert packing.is_whole


def test_host_ports_are_more_than_packing() -> None:
    pods = [make_pod("a").host_port(80), make_pod("b").host_port(80)]
    trace = Trace((make_node("n").build(),), tuple(Create(0.0, pod.build()) for pod in pods))
    assert not make_packing(compile_trace(trace)).is_whole


def test_daemonsets_are_not_packed() -> None:
    pods = [make_pod("a").cpu(500), make_pod("agent").cpu(100).owner("DaemonSet", "agent")]
    trace = Trace((make_node("n").build(),), tuple(Create(0.0, pod.build()) for pod in pods))
    packing = make_packing(compile_trace(trace))
    assert packing.group_of_pod[0] >= 0 and packing.group_of_pod[1] == -1
    assert not packing.is_whole


def test_power_lines_are_below_the_curve_and_touch_it() -> None:
    nodes = (make_node("n").cpu(1000).power(50.0, 120.0, 130.0).build(),)
    trace = Trace(nodes, (Create(0.0, make_pod("a").cpu(1).build()),))
    lines = power_lines(make_packing(compile_trace(trace)))
    use = np.linspace(0.0, 1000.0, 101)
    curve = np.interp(use, [0.0, 500.0, 1000.0], [50.0, 120.0, 130.0])
    assert (curve - lines.base[0] - lines.slope[0] * use).min() >= -1e-9
    assert (curve - lines.share[0] * use).min() >= -1e-9
    assert lines.slope[0] == 0.08 and lines.share[0] == 0.13
