"""Pods that come and go on a handful of nodes: what is told of each event, and what is kept is never stale."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import Tables
from longshore.core.arrays.power import pwr_node_watts
from longshore.policies import REGISTRY
from longshore_studies.openb.filling import Filled, Filling, axes_of, fill, fill_all
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode

SHARE, WHOLE, PLAIN = range(3)
NUM_SHARES = 1
GIB = 1 << 30


def make_filling(events: list[tuple[int, bool]], classes: dict[int, int], memory: int = 0) -> Filling:
    """Two T4 nodes of two GPUs; events are (pod, comes), and `classes` says what each pod is."""
    nodes = [make_node(name).cpu(8000).memory("4Gi").gpu(2, "T4") for name in "ab"]
    pods = make_pod("s").cpu(1000).gpu(1, 600), make_pod("w").cpu(1000).gpu(1, 1000), make_pod("z").cpu(3000)
    encoded = encode(make_snapshot(*nodes, *pods))
    pod = np.array([pod for pod, _ in events], np.int32)
    return Filling(
        arrays=encoded.arrays,
        allowed=np.array([[True, True], [False, True]]),
        pod_class=np.array([classes[one] for one in pod.tolist()], np.int32),
        memory=np.full(len(events), memory, np.int64),
        models=np.zeros(len(events), np.int32),
        pod=pod,
        is_arrival=np.array([comes for _, comes in events]),
    )


def play(filling: Filling, policy: str = "gpu-packing", num_pods: int = 0) -> Filled:
    # On the device first: NumPy arrays cannot be indexed by what is not known yet.
    filling = jax.tree.map(jnp.asarray, filling)
    run = jax.jit(lambda one: fill(REGISTRY.load(policy), one, NUM_SHARES, num_pods))
    return Filled(*map(np.asarray, run(filling)))


def test_pods_go_where_the_policy_says_until_nothing_is_left() -> None:
    outcome = play(make_filling([(i, True) for i in range(6)], dict.fromkeys(range(6), SHARE)))
    assert outcome.node.tolist() == [0, 0, 1, 1, -1, -1]
    assert outcome.milli.tolist() == [600] * 4 + [0, 0]
    assert outcome.had_room.tolist() == [True] * 4 + [False] * 2
    assert outcome.on_device.tolist() == [[True, False], [False, True]] * 2 + [[False, False]] * 2


def test_what_each_event_changes_adds_up_to_the_cluster() -> None:
    filling = make_filling([(i, True) for i in range(4)], {0: SHARE, 1: PLAIN, 2: WHOLE, 3: WHOLE})
    outcome = play(filling)
    assert outcome.node.tolist() == [0, 0, 0, 1]
    assert outcome.nodes_on.tolist() == [1, 0, 0, 1]
    idle = float(pwr_node_watts(filling.arrays)[0])
    # A T4 draws 60 W more when it is used, a socket 105 W; eight vCPU are one socket.
    assert outcome.watts.tolist() == [165.0, 0.0, 60.0, 165.0]
    assert outcome.watts_idle_off.tolist() == [idle + 165.0, 0.0, 60.0, idle + 165.0]


def test_memory_is_a_filter() -> None:
    outcome = play(make_filling([(i, True) for i in range(4)], dict.fromkeys(range(4), PLAIN), memory=3 * GIB))
    assert outcome.node.tolist() == [0, 1, -1, -1]


def test_the_allowed_models_are_a_filter() -> None:
    filling = make_filling([(0, True), (1, True), (2, True)], dict.fromkeys(range(3), WHOLE))
    outcome = play(filling._replace(models=np.array([1, 1, 1], np.int32)))
    assert outcome.node.tolist() == [1, 1, -1]


@pytest.mark.parametrize("policy", ["gpu-packing", "fgd"])
def test_those_that_leave_give_back_what_they_held(policy: str) -> None:
    events = [(0, True), (1, True), (2, True), (3, True), (4, True), (2, False), (4, False), (5, True)]
    outcome = play(make_filling(events, dict.fromkeys(range(6), WHOLE)), policy, num_pods=6)
    assert outcome.node[4] == -1
    assert outcome.node[5] == outcome.node[2]
    assert outcome.node[6] == -1  # it had found no room, so it leaves none
    assert (outcome.node[7], outcome.on_device[7].tolist()) == (outcome.node[2], outcome.on_device[2].tolist())
    assert outcome.milli.sum() == 4000
    assert outcome.nodes_on.sum() == 2


def test_all_that_came_and_left_leaves_the_cluster_as_it_was() -> None:
    events = [(i, True) for i in range(3)] + [(i, False) for i in range(3)]
    outcome = play(make_filling(events, {0: SHARE, 1: WHOLE, 2: PLAIN}), num_pods=3)
    for part in (outcome.milli, outcome.watts, outcome.watts_idle_off, outcome.nodes_on):
        assert part.sum() == 0


def test_runs_side_by_side_are_the_runs_alone() -> None:
    policy = REGISTRY.load("gpu-packing")
    some = [
        make_filling([(i, True) for i in range(3)], classes) for classes in ({0: 0, 1: 1, 2: 2}, {0: 1, 1: 1, 2: 0})
    ]
    one, other = (jax.tree.map(jnp.asarray, filling) for filling in some)
    both = jax.tree.map(lambda *parts: jnp.stack(parts), one, other)
    axes = axes_of(both)
    parts = zip(axes.arrays.tables, one.arrays.tables, both.arrays.tables, strict=True)
    tables = Tables._make(alone if axis is None else stacked for axis, alone, stacked in parts)
    arrays = both.arrays._replace(classes=one.arrays.classes, tables=tables)
    together = fill_all(policy, both._replace(arrays=arrays), NUM_SHARES)
    for index, filling in enumerate(some):
        for got, want in zip(together, play(filling), strict=True):
            np.testing.assert_array_equal(np.asarray(got)[index], want)
