"""Watts by hand: curves, idle nodes, one more pod, and PWR's GPU nodes."""

import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.power import (
    active_sockets,
    added_watts,
    cluster_watts,
    gpu_watts,
    node_watts,
    pwr_node_watts,
    sockets,
    use_ratio,
    watts_at,
)
from longshore.core.words.node import NodePower
from longshore.core.words.pod import GpuRequest
from objectives.clusters import daemon, node, spec, transition
from support import jax_arrays


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


def gpu_cluster() -> ClusterArrays:
    """96 vCPU with 8 T4 of which one is shared; 64 vCPU with 2 V100M32, idle; 6 vCPU without GPUs."""
    nodes = [
        node("a", 96_000, gpu_count=8, gpu_model="T4"),
        node("b", 64_000, gpu_count=2, gpu_model="V100M32"),
        node("c", 6_000),
    ]
    on = {"a": [spec(33_000, gpu=GpuRequest(1, 300))], "c": [spec(100)]}
    return transition(nodes, on, "a", padded_nodes=4).before


def test_pwr_counts_busy_gpus_and_sockets() -> None:
    # a: 48 cores = 3 sockets; 31 whole cores are free, so 17 work = 2 sockets. b: 32 cores = 2 sockets, idle.
    # c: 3 cores = 1 socket, active as soon as anything runs.
    assert list(pwr_node_watts(gpu_cluster())) == [7 * 10 + 70 + 2 * 120 + 15, 2 * 30 + 2 * 15, 120, 0]


@pytest.mark.parametrize(
    ("left", "milli", "count", "cpu_millis", "want"),
    [
        (700, 300, 1, 0, [0.0, 0.0]),  # the shared one is busy already
        (1000, 300, 1, 0, [60.0, 270.0]),
        (1000, 1000, 2, 0, [120.0, 540.0]),
        (0, 0, 0, 1, [0.0, 105.0]),  # 1 milli-CPU wakes a core, and its socket
        (0, 0, 0, 33_000, [105.0, 210.0]),
    ],
)
def test_pwr_answers_what_if(left: int, milli: int, count: int, cpu_millis: int, want: list[float]) -> None:
    arrays = gpu_cluster()
    take = Take(np.full(4, left), np.full(4, milli), np.asarray(count))
    assert list((pwr_node_watts(arrays, take, np.asarray(cpu_millis)) - pwr_node_watts(arrays))[:2]) == want


@pytest.mark.parametrize(("used", "want"), [(0, 0), (1, 1), (32000, 1), (32001, 2), (96000, 3), (99000, 3)])
def test_a_socket_is_active_from_its_first_core_on(used: int, want: int) -> None:
    assert active_sockets(np.array([96000]), np.array([96000 - used])).tolist() == [want]


def test_sockets_are_counted_up() -> None:
    assert sockets(np.array([8000, 32000, 33000, 96000, 104000])).tolist() == [1, 1, 2, 3, 4]


def test_pwr_draws_the_same_in_jax() -> None:
    arrays = gpu_cluster()
    assert pwr_node_watts(jax_arrays.to_jax(arrays)).tolist() == pwr_node_watts(arrays).tolist()


def test_pwr_gives_unknown_gpu_models_middling_watts() -> None:
    assert gpu_watts("T4") == (10.0, 70.0)
    assert gpu_watts("V100M64") == (30.0, 250.0)


def test_a_pod_that_keeps_no_node_on_wakes_none() -> None:
    nodes = [node("a", power=NodePower((100.0, 300.0))), node("b", power=NodePower((50.0, 150.0)))]
    step = transition(nodes, {"a": [spec(300)]}, "b", daemon(500))
    np.testing.assert_allclose(added_watts(step.before, step.pod_class, switch_off_idle=True), [100.0, 0.0])
    assert cluster_watts(step.after, switch_off_idle=True) == cluster_watts(step.before, switch_off_idle=True)
    assert added_watts(step.before, step.pod_class)[1] == pytest.approx(50.0)
