"""Packing bounds: never above the optimum, and as high as they should be."""

import numpy as np
import pytest

from evaluation.cases import mixed_trace, random_packing, try_all_packings
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Create, NodeDrain, Trace
from longshore.evaluation.packing import Packing
from longshore.evaluation.packing_bounds import (
    bound_over_time,
    fewest_nodes,
    least_watts_idle_off,
    least_watts_idle_on,
)
from longshore.simulator.params import compile_trace
from support.builders import make_node, make_pod


def equal_nodes(sizes: list[int], number: int, capacity: int = 100) -> Packing:
    request = np.array([[size, 1] for size in sizes])
    curve = np.tile([10.0, 30.0], (number, 1))
    return Packing(
        request, np.ones((len(sizes), number), bool), np.tile([capacity, 110], (number, 1)), curve, np.zeros(0), True
    )


@pytest.mark.parametrize("is_convex", [True, False])
def test_never_above_the_optimum(is_convex: bool) -> None:
    num_fitting = 0
    for seed in range(60):
        packing, counts = random_packing(seed, is_convex=is_convex)
        best = try_all_packings(packing, counts)
        if best["nodes"] == np.inf:
            continue
        num_fitting += 1
        every = np.ones(len(packing.capacity), bool)
        assert fewest_nodes(packing, counts[None], every)[0] <= best["nodes"]
        assert least_watts_idle_on(packing, counts[None], every, every)[0] <= best["watts_idle_on"] + 1e-9
        assert least_watts_idle_off(packing, counts[None], every, every)[0] <= best["watts_idle_off"] + 1e-9
    assert num_fitting > 20


def test_large_pods_do_not_share() -> None:
    # Sizes add up to two nodes, but no two of 60 share one.
    packing = equal_nodes([60, 30], 5)
    assert fewest_nodes(packing, np.array([[3, 0], [3, 1], [0, 6], [0, 0]]), np.ones(5, bool)).tolist() == [3, 3, 2, 0]
    # Beside each 60 is room for one 30; two more 30s need another node.
    assert fewest_nodes(packing, np.array([[2, 4]]), np.ones(5, bool)).tolist() == [3]


def test_sets_without_a_common_node_add_up() -> None:
    packing = equal_nodes([10, 10, 10], 3)._replace(allowed=np.eye(3, dtype=bool))
    assert fewest_nodes(packing, np.array([[1, 1, 1], [1, 0, 1]]), np.ones(3, bool)).tolist() == [3, 2]


def test_large_nodes_are_taken_first() -> None:
    packing = equal_nodes([10], 3)._replace(capacity=np.array([[100, 110], [50, 110], [20, 110]]))
    assert fewest_nodes(packing, np.array([[10], [11], [16], [99]]), np.ones(3, bool)).tolist() == [1, 2, 3, 3]


def test_watts_by_hand() -> None:
    packing, every = equal_nodes([50], 2), np.ones(2, bool)
    counts = np.array([[0], [1], [3]])
    assert least_watts_idle_on(packing, counts, every, every).tolist() == [20.0, 30.0, 50.0]
    assert least_watts_idle_off(packing, counts, every, every).tolist() == [0.0, 20.0, 50.0]


def test_mean_over_time_by_hand() -> None:
    nodes = tuple(make_node(name).cpu(1000).power(10.0, 20.0).build() for name in ("a", "b"))
    pods = [make_pod(name).cpu(800).build() for name in ("p", "q")]
    trace = Trace(nodes, (Create(0.0, pods[0]), Create(6.0, pods[1], 2.0)), end=10.0)
    compiled = compile_trace(trace)
    assert bound_over_time(compiled, "active_nodes").value == pytest.approx(1.2)
    assert bound_over_time(compiled, "watts").value == pytest.approx(28.0 * 0.8 + 36.0 * 0.2)
    assert bound_over_time(compiled, "watts_idle_off").value == pytest.approx(18.0 * 0.8 + 36.0 * 0.2)


def test_a_drained_node_takes_no_pods() -> None:
    nodes = (make_node("big").cpu(4000).build(), *(make_node(name).cpu(1000).build() for name in ("a", "b")))
    pods = [make_pod(name).cpu(900).build() for name in ("p", "q")]
    trace = Trace(nodes, (*(Create(0.0, pod) for pod in pods), NodeDrain(5.0, "big")), end=10.0)
    assert bound_over_time(compile_trace(trace), "active_nodes").value == pytest.approx(1.5)


def test_unknown_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="`reward` has no packing bound"):
        bound_over_time(compile_trace(mixed_trace(0)), "reward")  # type: ignore[arg-type]
