"""Nodes whose pods changed are found, each by whoever has not seen it yet."""

import numpy as np
import pytest

from longshore.policies.changes import NodeChanges
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode


def state_of(*pods):
    return encode(make_snapshot(*(make_node(name).gpu(2, "T4") for name in "abc"), *pods)).arrays.state


@pytest.mark.parametrize("name", ["requested", "nonzero_requested", "pod_count", "keeping", "gpu_used"])
def test_a_change_in_place_is_seen_whatever_pods_change(name: str) -> None:
    state, changes = state_of(make_pod("p")), NodeChanges()
    changes.restart(state)
    before = changes.look(state)
    getattr(state, name)[1] += 1
    changes.look(state)
    assert changes.since(before).tolist() == [1]


def test_everybody_sees_what_changed_after_their_own_look() -> None:
    state, changes = state_of(make_pod("p")), NodeChanges()
    changes.restart(state)
    first = changes.tick
    state.pod_count[0] += 1
    second = changes.look(state)
    state.pod_count[2] += 1
    third = changes.look(state)
    assert [changes.since(tick).tolist() for tick in (first, second, third)] == [[0, 2], [2], []]


def test_marked_nodes_count_as_changed() -> None:
    state, changes = state_of(make_pod("p")), NodeChanges()
    changes.restart(state)
    before = changes.tick
    changes.look(state)
    changes.mark(np.array([1]))
    assert changes.since(before).tolist() == [1]


def test_a_cluster_without_gpus_and_one_of_another_size_are_fine() -> None:
    changes = NodeChanges()
    changes.restart(state_of(make_pod("p")))
    other = encode(make_snapshot(make_node("a"), make_pod("p"))).arrays.state
    changes.restart(other)
    before = changes.tick
    other.requested[0] += 1
    changes.look(other)
    assert changes.since(before).tolist() == [0]
