"""One placement on arrays: equal to encoding the pod as bound, undone by `remove`, the same in JAX."""

import random
from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import rich_snapshot, unbound
from longshore.core.arrays.cluster_arrays import ClusterArrays, State
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.gpu import best_fit
from longshore.core.arrays.place import place, remove
from longshore.core.words.snapshot import Snapshot
from support.builders import make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode
from support.jax_arrays import assert_same_trees, to_jax

seeds = st.integers(0, 2**32 - 1)
clusters = seeds.map(rich_snapshot) | seeds.map(random_snapshot)


def place_pod(encoded: Encoded, arrays: ClusterArrays, index: int, node_name: str) -> ClusterArrays:
    pod_class = np.asarray(encoded.class_of(encoded.snapshot.pods[index]))
    node = encoded.node_index[node_name]
    return place(arrays, pod_class, np.asarray(node), best_fit(arrays, pod_class)[node])


def without_history(state: State) -> State:
    return state._replace(last_node=np.array(-1, np.int32), step=np.array(0, np.uint32))


def bound_at_random(snapshot: Snapshot, seed: int) -> Snapshot:
    rng = random.Random(seed)
    names = [node.name for node in snapshot.nodes]
    pods = [replace(pod, bound_to=rng.choice(names), gpu_devices=None) for pod in snapshot.pods]
    return replace(snapshot, pods=tuple(pods))


@given(clusters, seeds)
def test_placing_the_waiting_pod_equals_encoding_it_as_bound(snapshot: Snapshot, seed: int) -> None:
    waiting = encode(snapshot)
    node_name = random.Random(seed).choice(waiting.node_names)
    pods = (*snapshot.pods[:-1], replace(snapshot.pods[-1], bound_to=node_name))
    bound = encode(replace(snapshot, pods=pods)).arrays
    placed = place_pod(waiting, waiting.arrays, len(pods) - 1, node_name)
    assert_same_trees(placed._replace(state=without_history(placed.state)), bound)


@settings(max_examples=40)
@given(clusters, seeds)
def test_placing_all_pods_one_by_one_equals_encoding_them_as_bound(snapshot: Snapshot, seed: int) -> None:
    target = bound_at_random(snapshot, seed)
    empty = encode(unbound(target))
    arrays = empty.arrays
    for index, pod in enumerate(target.pods):
        arrays = place_pod(empty, arrays, index, pod.bound_to)
    assert arrays.state.step == len(target.pods)
    assert_same_trees(without_history(arrays.state), encode(target).arrays.state)


@given(clusters, seeds)
def test_remove_undoes_place_but_for_step_and_last_node(snapshot: Snapshot, seed: int) -> None:
    encoded = encode(snapshot)
    rng, before = random.Random(seed), encoded.arrays
    pod_class, node = np.asarray(rng.randrange(len(encoded.specs))), np.asarray(rng.randrange(len(snapshot.nodes)))
    devices = best_fit(before, pod_class)[node]
    placed = place(before, pod_class, node, devices)
    after = remove(placed, pod_class, node, devices)
    assert (after.state.step, after.state.last_node) == (before.state.step + 1, node)
    assert_same_trees(after._replace(state=without_history(after.state)), before)


@settings(max_examples=40)
@given(clusters, seeds)
def test_place_and_remove_leave_their_input_alone(snapshot: Snapshot, seed: int) -> None:
    encoded = encode(snapshot)
    before, copy = encoded.arrays, jax.tree.map(np.copy, encoded.arrays)
    pod_class, node = np.asarray(len(encoded.specs) - 1), np.asarray(seed % len(snapshot.nodes))
    devices = best_fit(before, pod_class)[node]
    place(before, pod_class, node, devices)
    remove(before, pod_class, node, devices)
    assert_same_trees(before, copy)


def test_place_changes_the_node_only() -> None:
    snapshot = make_snapshot(
        make_node("a").gpu(2), make_node("b").gpu(2), make_pod("p").cpu("1").memory("1Gi").gpu(1, 300)
    )
    before = encode(snapshot).arrays
    after = place(before, np.asarray(0), np.asarray(1), np.array([0, 300])).state
    assert after.requested.tolist() == [[0, 0, 0], [1000, 2**30, 0]]
    assert after.nonzero_requested.tolist() == [[0, 0], [1000, 2**30]]
    assert after.pod_count.tolist() == [0, 1]
    assert after.gpu_used.tolist() == [[0, 0], [0, 300]]
    assert (int(after.last_node), int(after.step)) == (1, 1)


def test_place_wraps_the_step_as_uint32() -> None:
    arrays = encode(make_snapshot(make_node("a"), make_pod("p"))).arrays
    arrays = arrays._replace(state=arrays.state._replace(step=np.array(2**31, np.uint32)))
    placed = place(arrays, np.asarray(0), np.asarray(0), np.zeros(0, np.int64))
    assert placed.state.step == 2**31 + 1
    assert placed.state.step.dtype == np.uint32


@pytest.mark.parametrize(
    "snapshot", [rich_snapshot(3), rich_snapshot(8), random_snapshot(5)], ids=["rich-3", "rich-8", "gpu-5"]
)
def test_place_and_remove_under_jit_have_the_bits_of_numpy(snapshot: Snapshot) -> None:
    arrays = encode(snapshot).arrays
    there = to_jax(arrays)
    compiled_place, compiled_remove = jax.jit(place), jax.jit(remove)
    for pod_class in map(np.asarray, range(min(len(arrays.classes.gpu_milli), 4))):
        for node in map(np.asarray, range(min(len(snapshot.nodes), 3))):
            devices = best_fit(arrays, pod_class)[node]
            where = (pod_class, node, devices)
            assert_same_trees(compiled_place(there, *to_jax(where)), place(arrays, *where))
            assert_same_trees(compiled_remove(there, *to_jax(where)), remove(arrays, *where))
