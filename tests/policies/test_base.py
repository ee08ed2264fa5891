"""Choosing a node: mask, score, choice and devices, the same in NumPy and JAX."""

from collections.abc import Callable

import jax
import numpy as np
import pytest

from longshore import filters
from longshore.policies.base import Policy, choose_node
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import to_jax


def cluster(*pods):
    nodes = (make_node("a").gpu(2), make_node("b").gpu(2), make_node("c").gpu(2))
    encoded = encode(make_snapshot(*nodes, *pods))
    return encoded.arrays, np.asarray(encoded.class_of(encoded.snapshot.pending[0]))


def scoring(*scores: float) -> Callable[..., np.ndarray]:
    return lambda *_: np.array(scores)


def test_the_best_feasible_node_is_chosen_with_its_devices():
    arrays, pod_class = cluster(make_pod("p").gpu(1))
    choice = choose_node(Policy(scoring(1.0, 3.0, 2.0)), arrays, pod_class, np.array([True, False, True]))
    assert (int(choice.node), choice.runner_up) == (2, -1)
    assert choice.devices.tolist() == [1000, 0]
    assert choice.scores.tolist() == [1.0, 3.0, 2.0]


def test_no_feasible_node_is_no_choice():
    arrays, pod_class = cluster(make_pod("p"))
    assert int(choose_node(Policy(scoring(1.0, 1.0, 1.0)), arrays, pod_class, np.zeros(3, bool)).node) == -1


def test_scores_that_are_given_are_not_asked_for():
    arrays, pod_class = cluster(make_pod("p"))
    policy = Policy(None)  # type: ignore[arg-type]
    choice = choose_node(policy, arrays, pod_class, np.ones(3, bool), scores=np.array([0.0, 0.0, 1.0]))
    assert int(choice.node) == 2


def test_devices_are_left_out_where_nobody_asks():
    arrays, pod_class = cluster(make_pod("p"))
    policy = Policy(scoring(0.0, 1.0, 0.0), devices=None)  # type: ignore[arg-type]
    assert choose_node(policy, arrays, pod_class, np.ones(3, bool), wants_devices=False).devices is None


@pytest.mark.parametrize(
    ("scores", "may_defer", "want"),
    [
        ((1.0, 3.0, 2.0), False, (1, 2)),
        ((-1.0, -3.0, -2.0), False, (0, 2)),
        ((-1.0, -3.0, -2.0), True, (-1, 0)),
        ((-1.0, 3.0, -2.0), True, (1, 0)),
    ],
)
def test_the_runner_up_is_what_would_be_chosen_otherwise(scores, may_defer: bool, want: tuple[int, int]):
    arrays, pod_class = cluster(make_pod("p"))
    policy = Policy(scoring(*scores), may_defer=may_defer)
    choice = choose_node(policy, arrays, pod_class, np.ones(3, bool), wants_runner_up=True)
    assert (int(choice.node), choice.runner_up) == want


def test_jax_chooses_as_numpy_does():
    arrays, pod_class = cluster(make_pod("p").gpu(1))
    mask, policy = filters.feasible(arrays, pod_class), Policy(lambda *_: np.array([1.0, 2.0, 2.0]))
    want = choose_node(policy, arrays, pod_class, mask)
    got = jax.jit(lambda *given: choose_node(policy, *given))(*to_jax((arrays, pod_class, mask)))
    assert (int(got.node), np.asarray(got.devices).tolist()) == (int(want.node), want.devices.tolist())
