"""Watts by hand: curves, idle nodes, one more pod, and PWR's GPU nodes."""

import numpy as np
import pytest

from longshore.core.arrays import ClusterArrays
from longshore.core.errors import UnknownNameError
from longshore.core.node import NodePower
from longshore.core.pod import GpuRequest
from longshore.core.power import (
    added_watts,
    cluster_watts,
    node_watts,
    pwr_gpu_watts,
    pwr_node_watts,
    use_ratio,
    watts_at,
)
from objectives.clusters import node, spec, transition


def cluster() -> ClusterArrays:
    """a: linear, 30 % used; b: three points, idle; c: no CPU at all, one pod; two padding rows."""
    nodes = [
        node("a", 1000, power=NodePower((100.0, 300.0))),
        node("b", 1000, power=NodePower((50.0, 150.0, 200.0))),
        node("c", 0, power=NodePower((40.0, 400.0))),
    ]
    step = transition(nodes, {"a": [spec(300)], "c": [spec(0)]}, "a", spec(500), padded_nodes=5)
    return step.before


def test_use_ratio_is_zero_where_nothing_is_allocatable() -> None:
    assert list(use_ratio(np.array([5, 5, 0]), np.array([10, 0, 0]))) == [0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("ratio", "want"),
    [(0.0, 50.0), (0.25, 100.0), (0.5, 150.0), (0.75, 175.0), (1.0, 200.0), (1.7, 200.0), (-1.0, 50.0)],
)
def test_curves_are_linear_between_their_points(ratio: float, want: float) -> None:
    assert watts_at(np.array([[50.0, 150.0, 200.0]]), np.array([ratio]))[0] == pytest.approx(want)


def test_a_curve_of_one_point_is_constant() -> None:
    assert list(watts_at(np.array([[80.0], [90.0]]), np.array([0.0, 1.0]))) == [80.0, 90.0]


def test_idle_nodes_draw_the_first_point_or_nothing() -> None:
    arrays = cluster()
    np.testing.assert_allclose(node_watts(arrays), [160.0, 50.0, 40.0, 0.0, 0.0])
    np.testing.assert_allclose(node_watts(arrays, switch_off_idle=True), [160.0, 0.0, 40.0, 0.0, 0.0])
    assert cluster_watts(arrays) == pytest.approx(250.0)
    assert cluster_watts(arrays, switch_off_idle=True) == pytest.approx(200.0)


def test_added_watts_pay_for_switching_on() -> None:
    arrays = cluster()
    pod_class = int(np.flatnonzero(arrays.classes.request[:, 0] == 500)[0])
    np.testing.assert_allclose(added_watts(arrays, pod_class), [100.0, 100.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(added_watts(arrays, pod_class, switch_off_idle=True), [100.0, 150.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("to", ["a", "b"])
@pytest.mark.parametrize("switch_off_idle", [False, True])
def test_added_watts_are_what_a_placement_adds(to: str, switch_off_idle: bool) -> None:
    nodes = [node("a", power=NodePower((100.0, 300.0))), node("b", power=NodePower((50.0, 150.0, 200.0)))]
    step = transition(nodes, {"a": [spec(300)]}, to, spec(450))
    difference = cluster_watts(step.after, switch_off_idle) - cluster_watts(step.before, switch_off_idle)
    assert added_watts(step.before, step.pod_class, switch_off_idle)[step.node] == pytest.approx(difference)


def gpu_cluster() -> tuple[ClusterArrays, list[str]]:
    """96 vCPU with 8 T4 of which one is shared; 64 vCPU with 2 V100M32, idle; 6 vCPU without GPUs."""
    models = ["T4", "V100M32", ""]
    nodes = [
        node("a", 96_000, gpu_count=8, gpu_model=models[0]),
        node("b", 64_000, gpu_count=2, gpu_model=models[1]),
        node("c", 6_000),
    ]
    on = {"a": [spec(33_000, gpu=GpuRequest(1, 300))], "c": [spec(100)]}
    return transition(nodes, on, "a", padded_nodes=4).before, models


def test_pwr_counts_busy_gpus_and_sockets() -> None:
    arrays, models = gpu_cluster()
    watts = pwr_node_watts(arrays, pwr_gpu_watts(models, num_rows=4))
    # a: 48 cores = 3 sockets; 31 whole cores are free, so 17 work = 2 sockets. b: 32 cores = 2 sockets, idle.
    # c: 3 cores = 1 socket, active as soon as anything runs.
    assert list(watts) == [7 * 10 + 70 + 2 * 120 + 15, 2 * 30 + 2 * 15, 120, 0]


def test_pwr_answers_what_if_for_many_states_at_once() -> None:
    arrays, models = gpu_cluster()
    free = arrays.nodes.gpu_capacity - arrays.state.gpu_used
    on_busy, on_idle = free.copy(), free.copy()
    on_busy[0, 0] -= 300
    on_idle[0, 1] -= 300
    table = pwr_gpu_watts(models, num_rows=4)
    watts = pwr_node_watts(arrays, table, free_milli=np.stack([on_busy, on_idle]))
    assert list(watts[:, 0] - pwr_node_watts(arrays, table)[0]) == [0.0, 60.0]


def test_pwr_refuses_unknown_gpu_models() -> None:
    with pytest.raises(UnknownNameError, match="unknown GPU model `V100M64`"):
        pwr_gpu_watts(["V100M64"])
