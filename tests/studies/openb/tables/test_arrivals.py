"""The protocol against a Go program that does it with Go's own `math/rand`, on six pods and four nodes."""

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.arrivals import arrivals
from longshore_studies.openb.tables.openb import Nodes, Pods

GPU_COUNT = (1, 1, 0, 4, 1, 2)
GPU_MILLI = (500, 1000, 0, 1000, 250, 1000)
DEMAND = 7750
CAPACITY = 12_000


def make_pods(gpu_count: tuple[int, ...] = GPU_COUNT, gpu_milli: tuple[int, ...] = GPU_MILLI) -> Pods:
    size = len(gpu_count)
    return Pods(
        names=("pod-d", "pod-a", "pod-c", "pod-b", "pod-e", "pod-f")[:size],
        cpu_milli=np.full(size, 1000),
        memory_mib=np.full(size, 1024),
        gpu_count=np.array(gpu_count),
        gpu_milli=np.array(gpu_milli),
        models=((),) * size,
        created=None,
        deleted=None,
    )


def make_nodes(names: tuple[str, ...] = ("n3", "n1", "n0", "n2"), gpus: int = 3) -> Nodes:
    size = len(names)
    return Nodes(names, np.full(size, 64_000), np.full(size, 262_144), np.full(size, gpus), ("G2",) * size)


@pytest.mark.parametrize(
    ("seed", "ratio", "order", "node_rank"),
    [
        # More pods than the list has, fewer, and as many as it has.
        (44, 1.3, [2, 3, 0, 1, 4, 5, 5, 2, 5, 1, 0, 2, 1, 1, 2, 4], [1, 0, 2, 3]),
        (42, 1.3, [3, 2, 4, 5, 0, 1, 0, 2, 2, 3, 3], [2, 3, 0, 1]),
        (43, 0.4, [4, 3, 2, 0], [3, 0, 2, 1]),
        (45, 0.4, [5], [2, 1, 3, 0]),
        (47, DEMAND / CAPACITY, [0, 3, 5, 2, 4, 1], [1, 0, 3, 2]),
    ],
)
def test_arrivals_are_those_of_go(seed: int, ratio: float, order: list[int], node_rank: list[int]) -> None:
    got = arrivals(make_pods(), make_nodes(), seed, ratio)
    assert (got.order.tolist(), got.node_rank.tolist()) == (order, node_rank)


def test_last_pod_with_many_gpus_may_exceed_the_target() -> None:
    pods = make_pods()
    order = arrivals(pods, make_nodes(), 46, 1.3).order
    assert order.tolist() == [3, 4, 2, 5, 1, 0, 4, 5, 3, 3]
    assert pods.total_gpu_milli[order].sum() == 18_000 > 1.3 * CAPACITY


def test_ratio_is_the_published_one_unless_told() -> None:
    default = arrivals(make_pods(), make_nodes(), 42)
    assert default.order.tolist() == arrivals(make_pods(), make_nodes(), 42, 1.3).order.tolist()


@pytest.mark.parametrize("size", [1, 303, 4852])
def test_clusters_of_any_size_are_filled(size: int) -> None:
    nodes = make_nodes(tuple(f"node-{index}" for index in range(size)), gpus=2)
    got = arrivals(make_pods((1, 0, 1), (810, 0, 1000)), nodes, 7)
    demand = make_pods((1, 0, 1), (810, 0, 1000)).total_gpu_milli[got.order].sum()
    assert 1.3 * 2000 * size - 1000 <= demand <= 1.3 * 2000 * size
    assert sorted(got.node_rank.tolist()) == list(range(size))


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_ratio_is_refused(ratio: float) -> None:
    with pytest.raises(InputError, match="ratio"):
        arrivals(make_pods(), make_nodes(), 42, ratio)


def test_list_without_gpu_pods_is_refused() -> None:
    with pytest.raises(InputError, match="without GPU pods"):
        arrivals(make_pods((0, 0), (0, 0)), make_nodes(), 42)
