"""Features: finite, bounded, the same in both libraries, blind to padding and order, and about what they say."""

import dataclasses
import random
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore import filters
from longshore.core.arrays import features as module
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.feature_table import EVERYWHERE, FEATURES
from longshore.core.arrays.features import ALL, default_names, feature_hash, feature_specs, features, names_of
from longshore.core.arrays.gpu import best_fit
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.words.errors import InputError, UnknownNameError
from support import jax_arrays
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod, make_snapshot, random_snapshot
from support.compiling import encode
from support.uniform import Cluster, device_clusters, oracle_clusters, share_clusters

every_feature = pytest.mark.parametrize("name", ALL)
NUM_CLUSTERS = 32


def clusters() -> tuple[Cluster, ...]:
    return oracle_clusters(NUM_CLUSTERS) + device_clusters(NUM_CLUSTERS) + share_clusters()


def matrix(arrays: ClusterArrays, pod_class: int) -> Array:
    return features(arrays, np.asarray(pod_class), filters.feasible(arrays, np.asarray(pod_class)))


def column(arrays: ClusterArrays, pod_class: int, name: str) -> Array:
    feasible = filters.feasible(arrays, np.asarray(pod_class))
    return features(arrays, np.asarray(pod_class), feasible, (name,))[:, 0]


class Twins(NamedTuple):
    """One cluster's features, computed in ways that must not matter; rows in the order of the snapshot's nodes."""

    is_real: Array
    bare: Array
    padded: Array
    uniform: Array
    shuffled: Array


@lru_cache(maxsize=1)
def twins() -> tuple[Twins, ...]:
    return tuple(_twins(cluster, number) for number, cluster in enumerate(clusters()))


def followed(arrays: ClusterArrays, pod_class: int) -> ClusterArrays:
    """Return a cluster in which another pod like it waits behind the pod."""
    return arrays._replace(state=arrays.state._replace(next_class=np.array(pod_class, np.int32)))


def _twins(cluster: Cluster, number: int) -> Twins:
    snapshot, pod_class = cluster.encoded.snapshot, cluster.pod_class
    other = encode(replace(snapshot, nodes=tuple(random.Random(number).sample(snapshot.nodes, len(snapshot.nodes)))))
    order = [other.node_index[node.name] for node in snapshot.nodes]
    return Twins(
        is_real=cluster.uniform.nodes.is_real,
        bare=matrix(followed(encode(snapshot).arrays, pod_class), pod_class),
        padded=matrix(followed(cluster.encoded.arrays, pod_class), pod_class),
        uniform=matrix(followed(cluster.uniform, pod_class), pod_class),
        shuffled=matrix(followed(other.arrays, pod_class), pod_class)[order],
    )


def encode_parts(*parts: NodeBuilder | PodBuilder) -> Encoded:
    return encode(make_snapshot(*parts))


def row(encoded: Encoded, node: str, name: str, pod_class: int = 0) -> float:
    return float(column(encoded.arrays, pod_class, name)[encoded.node_index[node]])


@every_feature
def test_features_are_finite_bounded_and_zero_on_padding(name: str) -> None:
    number = ALL.index(name)
    for twin in twins():
        for rows in (twin.bare, twin.padded, twin.uniform):
            assert rows.dtype == np.float32
            assert rows.shape[1] == len(ALL)
            assert np.isfinite(rows[:, number]).all()
            assert (np.abs(rows[:, number]) <= 1).all()
        for rows in (twin.padded, twin.uniform):
            assert (rows[~twin.is_real, number] == 0).all()


@every_feature
def test_features_do_not_see_padding(name: str) -> None:
    number = ALL.index(name)
    for twin in twins():
        want = twin.bare[:, number]
        for rows in (twin.padded, twin.uniform):
            np.testing.assert_allclose(rows[twin.is_real, number], want, rtol=0, atol=1e-6)


@every_feature
def test_features_move_with_their_nodes(name: str) -> None:
    number = ALL.index(name)
    for twin in twins():
        np.testing.assert_allclose(twin.shuffled[:, number], twin.bare[:, number], rtol=0, atol=1e-6)


@every_feature
def test_features_say_something_on_some_cluster(name: str) -> None:
    """A column that never is anything but 0 would be a slip in its formula."""
    assert any(twin.bare[:, ALL.index(name)].any() for twin in twins())


@pytest.mark.parametrize("make", [oracle_clusters, device_clusters])
def test_numpy_and_jax_agree(make: Callable[[int], tuple[Cluster, ...]]) -> None:
    compiled = jax.jit(features)
    for cluster in make(NUM_CLUSTERS):
        feasible = filters.feasible(cluster.uniform, np.asarray(cluster.pod_class))
        want = matrix(cluster.uniform, cluster.pod_class)
        got = compiled(jax_arrays.to_jax(cluster.uniform), jnp.asarray(cluster.pod_class), jnp.asarray(feasible))
        assert got.dtype == want.dtype
        for number, name in enumerate(ALL):
            np.testing.assert_allclose(got[:, number], want[:, number], rtol=0, atol=1e-6, err_msg=name)


def test_features_work_under_vmap() -> None:
    cluster = device_clusters(NUM_CLUSTERS)[3]
    pod_classes = np.arange(len(cluster.encoded.specs))
    masks = np.stack([filters.feasible(cluster.uniform, pod_class) for pod_class in pod_classes])
    got = jax.jit(jax.vmap(features, in_axes=(None, 0, 0)))(jax_arrays.to_jax(cluster.uniform), pod_classes, masks)
    for pod_class in pod_classes:
        want = features(cluster.uniform, pod_class, masks[pod_class])
        np.testing.assert_allclose(got[pod_class], want, rtol=0, atol=1e-6)


@settings(max_examples=30)
@given(
    values=st.lists(st.floats(width=64), min_size=4, max_size=4),
    soft=st.one_of(st.none(), st.floats(0, 1e300)),
    cpu=st.sampled_from([0, 1, 10**12]),
)
def test_features_are_finite_whatever_was_measured(values: list[float], soft: float | None, cpu: int) -> None:
    names = ("latency_ms", "connections", "traffic_bytes_per_second", "cpu_ratio")
    node = make_node("a").cpu(cpu).memory(0).pods(0).readings(**dict(zip(names, values, strict=True))).power(0.0, 0.0)
    encoded = encode_parts(node, make_node("b"), make_pod("p").cpu(10**12).latency(soft, None))
    with np.errstate(all="raise", under="ignore"):
        rows = features(encoded.arrays, np.asarray(0), np.array([True, False]))
    assert np.isfinite(rows).all()
    assert (np.abs(rows) <= 1).all()


def test_a_cluster_without_nodes_has_only_zeros() -> None:
    encoded = encode_parts(make_pod("p").cpu(100))
    assert (features(encoded.arrays, np.asarray(0), np.array([False])) == 0).all()


def changed(before: Encoded, after: Encoded, pod_class: int = 0) -> set[str]:
    """Return the features that differ for a pod."""
    rows = [matrix(encoded.arrays, pod_class) for encoded in (before, after)]
    return {name for number, name in enumerate(ALL) if not np.allclose(rows[0][:, number], rows[1][:, number])}


def test_the_request_changes_the_pod_and_the_node_after() -> None:
    nodes = (make_node("a"), make_node("b").cpu("8"))
    small, large = (encode_parts(*nodes, make_pod("p").cpu(cpu).memory("1Gi")) for cpu in (500, 1000))
    assert changed(small, large) == {
        "pod_cpu", "after_cpu_used", "after_imbalance", "added_watts", "added_watts_from_off",
    }  # fmt: skip
    assert row(large, "a", "pod_cpu") == pytest.approx(1000 / 6000)
    assert row(large, "a", "after_cpu_used") == pytest.approx(0.25)
    assert row(large, "b", "after_cpu_used") == pytest.approx(0.125)
    assert row(large, "a", "after_memory_used") == pytest.approx(1 / 16)


def test_the_load_changes_the_node_and_the_pools() -> None:
    parts = (make_node("a"), make_node("b"), make_pod("p").cpu(500), make_pod("q").cpu(1000).memory("4Gi"))
    empty = encode_parts(*parts)
    loaded = replace(empty, arrays=place(empty.arrays, np.asarray(1), np.asarray(0), np.zeros(0, np.int64)))
    found = changed(empty, loaded)
    assert {"node_cpu_used", "node_memory_used", "node_pods_used", "node_cpu_free", "node_is_on"} <= found
    assert {"after_cpu_used", "after_memory_used", "cluster_cpu_mean", "cluster_cpu_most", "cluster_on_share"} <= found
    assert {"cluster_cpu_deviation", "cluster_memory_mean", "added_watts_from_off"} <= found
    assert not found & {"pod_cpu", "pod_memory", "latency", "is_feasible", "idle_watts", "cluster_cpu_least"}
    assert row(loaded, "a", "node_cpu_used") == pytest.approx(0.25)
    assert row(loaded, "b", "node_cpu_used") == 0
    assert row(loaded, "b", "cluster_cpu_mean") == pytest.approx(0.125)
    assert row(loaded, "b", "cluster_cpu_deviation") == pytest.approx(0.25)
    assert row(loaded, "b", "cluster_on_share") == pytest.approx(0.5)


def test_a_node_with_daemonsets_alone_is_off() -> None:
    agent = make_pod("agent").cpu("1").owner("DaemonSet", "agent")
    nodes = [make_node(name).power(100.0, 300.0) for name in "ab"]
    encoded = encode_parts(make_pod("web").cpu("1"), *nodes, agent.on("a"), make_pod("other").cpu("1").on("b"))
    assert [row(encoded, name, "node_is_on") for name in "ab"] == [0.0, 1.0]
    assert row(encoded, "a", "cluster_on_share") == 0.5
    # a: 300 · 2/4 from nothing, though the DaemonSet's quarter is in it; b: another quarter.
    assert row(encoded, "a", "added_watts_from_off") == pytest.approx(200 / 300)
    assert row(encoded, "b", "added_watts_from_off") == pytest.approx(50 / 300)


def test_a_daemonsets_pod_switches_no_node_on() -> None:
    agent = make_pod("agent").cpu("1").owner("DaemonSet", "agent")
    encoded = encode_parts(agent, make_node("a").power(100.0, 300.0))
    assert row(encoded, "a", "added_watts_from_off") == 0.0
    assert row(encoded, "a", "added_watts") == pytest.approx(50 / 300)


def test_pools_are_over_all_nodes_not_only_feasible_ones() -> None:
    busy = make_node("a").taint("wear")
    encoded = encode_parts(busy, make_node("b"), make_pod("p").cpu(100), make_pod("q").cpu(2000).on("a"))
    assert row(encoded, "a", "is_feasible") == 0
    assert row(encoded, "b", "cluster_cpu_most") == pytest.approx(0.5)
    assert row(encoded, "b", "cluster_cpu_mean") == pytest.approx(0.25)


def test_latency_is_compared_with_the_limits() -> None:
    nodes = [make_node(name).readings(latency_ms=ms) for name, ms in (("a", 10.0), ("b", 25.0), ("c", 75.0))]
    encoded = encode_parts(*nodes, make_node("d"), make_pod("p").latency(20.0, 30.0), make_pod("free").cpu(1))
    assert [row(encoded, node, "latency_within_soft") for node in "abcd"] == [1, 0, 0, 0]
    assert [row(encoded, node, "latency_within_hard") for node in "abcd"] == [1, 1, 0, 0]
    assert [row(encoded, node, "latency_within_hard", pod_class=1) for node in "abcd"] == [1, 1, 1, 1]
    assert [row(encoded, node, "latency_known") for node in "abcd"] == [1, 1, 1, 0]
    assert [row(encoded, node, "latency") for node in "abcd"] == pytest.approx([10 / 35, 0.5, 0.75, 0])
    assert row(encoded, "d", "pod_latency_soft") == pytest.approx(20 / 45)
    assert row(encoded, "d", "pod_has_latency_hard") == 1
    assert row(encoded, "d", "pod_has_latency_hard", pod_class=1) == 0


def test_watts_and_money_are_shares_of_the_largest() -> None:
    small = make_node("a").power(50.0, 100.0).cost(1.0).carbon(20.0)
    encoded = encode_parts(small, make_node("b").power(100.0, 200.0).cost(4.0).carbon(80.0), make_pod("p").cpu("2"))
    assert [row(encoded, node, "idle_watts") for node in "ab"] == [0.25, 0.5]
    assert [row(encoded, node, "full_watts") for node in "ab"] == [0.5, 1.0]
    assert [row(encoded, node, "added_watts") for node in "ab"] == [0.125, 0.25]
    assert [row(encoded, node, "added_watts_from_off") for node in "ab"] == [0.375, 0.75]
    assert [row(encoded, node, "cost") for node in "ab"] == [0.25, 1.0]
    assert [row(encoded, node, "carbon") for node in "ab"] == [0.25, 1.0]


def test_gpus_are_shares_of_the_node() -> None:
    parts = (make_node("a").gpu(2), make_node("b").gpu(1), make_node("c"), make_pod("p").gpu(1, 500))
    encoded = encode_parts(*parts)
    arrays = encoded.arrays
    held = best_fit(arrays, np.asarray(0))[0]
    used = replace(encoded, arrays=place(arrays, np.asarray(0), np.asarray(0), held))
    assert [row(encoded, node, "gpu_free") for node in "abc"] == [1, 1, 0]
    assert [row(used, node, "gpu_free") for node in "abc"] == [0.75, 1, 0]
    assert [row(encoded, node, "gpu_size") for node in "abc"] == [1, 0.5, 0]
    assert row(encoded, "c", "pod_gpu") == pytest.approx(1 / 3)


def test_gpus_with_the_pod_on_them_are_seen() -> None:
    """a has a GPU with 300 milli in use and one that is free; b has four that are free."""
    nodes = (make_node("a").cpu(8000).gpu(2, "T4"), make_node("b").cpu(8000).gpu(4, "A100"))
    there = make_pod("q").cpu(1000).gpu(1, 300).on("a", (0,))
    encoded = encode_parts(*nodes, make_pod("p").cpu(1000).gpu(1, 600), make_pod("r").gpu(2), there)
    share, two = (encoded.class_of(pod) for pod in encoded.snapshot.pods[:2])

    def both(name: str, pod_class: int = share) -> list[float]:
        return [row(encoded, node, name, pod_class) for node in "ab"]

    assert both("gpu_left_after") == pytest.approx([0.1, 0.4])
    assert both("gpu_left_after", two) == [0, 0]
    assert [both("gpu_left_from_100"), both("gpu_left_from_400")] == [[1, 0], [0, 1]]
    assert both("gpu_opens") == [0, 1]
    assert [both("gpu_partly_used"), both("gpu_wholly_free")] == [[1 / 8, 0], [1 / 8, 4 / 8]]
    assert [both("gpu_blocks_of_1_lost"), both("gpu_blocks_of_2_lost")] == [[0, 1 / 8], [0, 1 / 4]]
    assert both("gpu_blocks_of_4_lost") == [0, 1 / 2]
    assert both("gpu_blocks_of_2_lost", two)[1] == 1 / 4
    assert both("gpu_free_after") == pytest.approx([1100 / 2000, 3400 / 4000])
    assert both("cpu_per_gpu") == pytest.approx([4000 / 14000, 2000 / 12000])
    assert both("cpu_per_idle_gpu_after") == pytest.approx(
        [left / (left + 10_000) for left in (6000 / 1.1, 7000 / 3.4)]
    )
    assert [both("gpu_devices"), both("gpu_devices_2"), both("gpu_devices_4")] == [[2 / 8, 4 / 8], [1, 0], [0, 1]]
    assert both("gpu_busy_watts") == pytest.approx([70 / 270, 400 / 600])
    # a's GPU is busy already; on b one wakes up, and the first core with its socket.
    assert both("pwr_watts_added") == pytest.approx([0, 455 / 655])


def test_a_model_that_pods_are_bound_to_is_wanted() -> None:
    nodes = (make_node("a").gpu(3, "T4"), make_node("b").gpu(1, "P100"), make_node("c"))
    there = (make_pod("x").gpu(1, 500).on("a"), make_pod("y").gpu(1, 500, ("P100",)).on("b"))
    encoded = encode_parts(*nodes, *there, make_pod("p"))
    # By the mean GPU: half of the demand over all four, the other half over one; without GPUs as the mean.
    assert [row(encoded, node, "gpu_model_wanted") for node in "abc"] == pytest.approx([0.5 / 1.5, 2.5 / 3.5, 0.5])


def test_preferences_and_neighbours_are_seen() -> None:
    prefers_not = make_node("a").taint("wear", effect="PreferNoSchedule")
    encoded = encode_parts(prefers_not, make_node("b"), make_pod("p"))
    assert [row(encoded, node, "taints_unwanted") for node in "ab"] == [1, 0]
    image = 500 * 1024 * 1024
    encoded = encode_parts(make_node("a").image("app:1", image), make_node("b"), make_pod("p").image("app:1"))
    assert row(encoded, "a", "images_present") > row(encoded, "b", "images_present") == 0


def test_the_pod_behind_is_seen_as_what_it_asks_for() -> None:
    pods = (make_pod("p").cpu("1").memory("1Gi"), make_pod("q").cpu("2").memory("3Gi"))
    alone = encode_parts(make_node("a").cpu("4").memory("4Gi"), make_node("b").cpu("12").memory("12Gi"), *pods)
    state = alone.arrays.state
    followed = replace(alone, arrays=alone.arrays._replace(state=state._replace(next_class=np.array(1, np.int32))))
    assert [row(alone, "a", name) for name in ("next_cpu", "next_memory")] == [0, 0]
    assert [row(followed, node, "next_cpu") for node in "ab"] == [0.25, 0.25]
    assert row(followed, "a", "next_memory") == 0.375


def test_names_are_unique_and_every_row_is_filled() -> None:
    assert len(set(ALL)) == len(FEATURES)
    for feature in FEATURES:
        assert feature.name.isidentifier()
        assert feature.unit
        assert feature.description
        assert feature.normalisation
        assert set(feature.where) <= set(EVERYWHERE)
        assert feature.version >= 1


def test_gpus_are_offered_in_detail_only_where_there_are_some() -> None:
    assert default_names(has_gpus=True) == ALL
    fewer = default_names(has_gpus=False)
    assert fewer == tuple(name for name in ALL if name in fewer)
    assert {"gpu_size", "pod_gpu", "node_cpu_used", "next_memory"} <= set(fewer)
    assert not {"gpu_left_from_0", "gpu_devices_8", "pwr_watts_added"} & set(fewer)


def test_what_is_offered_without_gpus_leaves_out_nothing_that_is_told_there() -> None:
    left_out = [name for name in ALL if name not in default_names(has_gpus=False)]
    arrays = encode_parts(make_node("a"), make_pod("p").cpu(500)).arrays
    assert not features(arrays, np.asarray(0), arrays.nodes.is_real, left_out).any()


def test_columns_come_in_the_order_asked_for() -> None:
    cluster = device_clusters(NUM_CLUSTERS)[0]
    arrays, pod_class = cluster.encoded.arrays, np.asarray(cluster.pod_class)
    feasible = filters.feasible(arrays, pod_class)
    rows = features(arrays, pod_class, feasible, ("latency", "node_cpu_used"))
    everything = features(arrays, pod_class, feasible)
    np.testing.assert_array_equal(rows[:, 0], everything[:, ALL.index("latency")])
    np.testing.assert_array_equal(rows[:, 1], everything[:, ALL.index("node_cpu_used")])


def test_the_hash_is_of_names_versions_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("latency", "node_cpu_used")
    before = feature_hash(names)
    assert len(before) == 64
    assert before == feature_hash(list(names))
    assert before != feature_hash(names[::-1])
    assert before != feature_hash(names[:1])
    newer = dataclasses.replace(module._BY_NAME["latency"], version=2)
    monkeypatch.setitem(module._BY_NAME, "latency", newer)
    assert feature_hash(names) != before
    assert feature_specs(names) == ("latency@2", "node_cpu_used@1")


def test_specs_are_read_back_and_foreign_versions_refused() -> None:
    assert names_of(feature_specs()) == ALL
    with pytest.raises(InputError, match=r"got the feature `latency@7`, expected `latency@1`"):
        names_of(["node_cpu_used@1", "latency@7"])
    with pytest.raises(UnknownNameError, match="did you mean `latency_known`"):
        names_of(["latency_knwon@1"])


@pytest.mark.parametrize("names", [(), ("latency", "latency")])
def test_no_features_and_doubles_are_refused(names: tuple[str, ...]) -> None:
    encoded = encode(random_snapshot(1))
    arguments: Any = (encoded.arrays, np.asarray(0), encoded.arrays.nodes.is_real, names)
    with pytest.raises(InputError, match="each once"):
        features(*arguments)
