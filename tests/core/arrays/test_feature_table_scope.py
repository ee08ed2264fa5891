"""What features depend on is what the table says: nothing else changes them, whatever happens to the cluster."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.arrays.cluster_arrays import ClusterArrays, Readings, rows_of
from longshore.core.arrays.feature_table import FEATURES, Feature
from longshore.core.arrays.feature_view import View
from longshore.core.arrays.features import columns
from longshore.core.arrays.ops import Array
from longshore.core.words.scope import Scope
from support import jax_arrays
from support.uniform import SHARES, Cluster, device_clusters, oracle_clusters, share_clusters

NUM_CLUSTERS = 24
numbers = st.integers(0, 2 * NUM_CLUSTERS + len(SHARES) - 1)


def clusters() -> tuple[Cluster, ...]:
    return oracle_clusters(NUM_CLUSTERS) + device_clusters(NUM_CLUSTERS) + share_clusters()


def of_scope(*scopes: Scope) -> tuple[Feature, ...]:
    return tuple(feature for feature in FEATURES if feature.scope in scopes)


def with_other_state(arrays: ClusterArrays, where: Array, draw: np.random.Generator) -> ClusterArrays:
    """Put other pods on some nodes, and another one next in the queue."""
    state = arrays.state
    wanted = (arrays.nodes.allocatable * draw.random((*where.shape, 1))).astype(np.int64)
    used = (arrays.nodes.gpu_capacity * draw.random(state.gpu_used.shape)).astype(np.int64)
    return arrays._replace(
        state=state._replace(
            requested=np.where(where[:, None], wanted, state.requested),
            pod_count=np.where(where, draw.integers(0, 9, where.shape), state.pod_count),
            keeping=np.where(where, draw.integers(0, 9, where.shape), state.keeping),
            counts=np.where(where, draw.integers(0, 9, state.counts.shape), state.counts),
            gpu_used=np.where(where[:, None], used, state.gpu_used),
            next_class=draw.integers(-1, len(arrays.classes.request)).astype(np.int32),
        )
    )


def with_other_readings(arrays: ClusterArrays, where: Array, draw: np.random.Generator) -> ClusterArrays:
    """Read something else on some nodes."""

    def other(values: Array) -> Array:
        drawn = draw.random(values.shape)
        changed = where if values.ndim == 1 else where[:, None]
        return np.where(changed, drawn < 0.5 if values.dtype == bool else 60 * drawn, values)

    return arrays._replace(readings=Readings._make(other(values) for values in arrays.readings))


def rows(arrays: ClusterArrays, pod_class: int, feasible: Array, features: tuple[Feature, ...]) -> Array:
    return columns(View(arrays, np.asarray(pod_class), feasible), features)


@given(number=numbers, node=st.integers(0, 11), seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_other_nodes_change_only_features_that_say_so(number: int, node: int, seed: int) -> None:
    cluster, draw = clusters()[number], np.random.default_rng(seed)
    arrays, features = cluster.encoded.arrays, of_scope(Scope.POD, Scope.NODE, Scope.READINGS, Scope.PODS)
    node = node % cluster.num_nodes
    others = np.arange(arrays.nodes.is_real.shape[0]) != node
    after = with_other_readings(with_other_state(arrays, others, draw), others, draw)
    want = rows(arrays, cluster.pod_class, arrays.nodes.is_real, features)[node]
    np.testing.assert_array_equal(rows(after, cluster.pod_class, draw.random(others.shape) < 0.5, features)[node], want)


@given(number=numbers, seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_pods_and_readings_change_only_features_that_say_so(number: int, seed: int) -> None:
    cluster, draw = clusters()[number], np.random.default_rng(seed)
    arrays, feasible = cluster.encoded.arrays, cluster.encoded.arrays.nodes.is_real
    everywhere = np.ones(feasible.shape, bool)
    cases = [
        (with_other_state(arrays, everywhere, draw), of_scope(Scope.POD, Scope.NODE, Scope.READINGS)),
        (with_other_readings(arrays, everywhere, draw), of_scope(Scope.POD, Scope.NODE, Scope.PODS, Scope.CLUSTER)),
    ]
    for after, features in cases:
        want = rows(arrays, cluster.pod_class, feasible, features)
        np.testing.assert_array_equal(rows(after, cluster.pod_class, ~feasible, features), want)


@pytest.mark.parametrize("feature", of_scope(Scope.POD, Scope.CLUSTER), ids=lambda feature: feature.name)
def test_what_is_said_to_be_the_same_for_all_nodes_is_one_number(feature: Feature) -> None:
    for cluster in clusters():
        view = View(cluster.encoded.arrays, np.asarray(cluster.pod_class), cluster.encoded.arrays.nodes.is_real)
        assert np.ndim(feature.compute(view)) == 0


@given(number=numbers, seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_a_part_of_a_view_has_the_rows_of_the_whole(number: int, seed: int) -> None:
    cluster, features = clusters()[number], of_scope(Scope.READINGS, Scope.PODS)
    view = View(cluster.encoded.arrays, np.asarray(cluster.pod_class), cluster.encoded.arrays.nodes.is_real)
    some = np.flatnonzero(np.random.default_rng(seed).random(view.is_real.shape) < 0.4)
    np.testing.assert_array_equal(columns(view.part(some), features), columns(view, features)[some])
    one = slice(seed % len(view.is_real), seed % len(view.is_real) + 1)
    np.testing.assert_array_equal(columns(view.part(one), features), columns(view, features)[one])


@pytest.mark.parametrize("scope", Scope)
def test_every_scope_has_features(scope: Scope) -> None:
    assert of_scope(scope)
    assert {feature.scope for feature in FEATURES} <= set(Scope)


@pytest.mark.parametrize(
    "feature", of_scope(Scope.READINGS, Scope.PODS, Scope.CLUSTER, Scope.OTHERS), ids=lambda feature: feature.name
)
def test_what_is_said_to_change_does(feature: Feature) -> None:
    """A feature that never changes would be computed again for nothing."""
    draw = np.random.default_rng(0)
    for cluster in clusters():
        arrays, is_real = cluster.encoded.arrays, cluster.encoded.arrays.nodes.is_real
        after = with_other_readings(with_other_state(arrays, is_real, draw), is_real, draw)
        before = rows(arrays, cluster.pod_class, is_real, (feature,))
        if not np.array_equal(rows(after, cluster.pod_class, draw.random(is_real.shape) < 0.5, (feature,)), before):
            return
    pytest.fail(f"{feature.name} never changed")


OWN = tuple(feature for feature in FEATURES if feature.is_own)


@given(number=numbers, seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_what_is_said_to_be_a_nodes_own_is_the_same_in_a_cluster_of_that_node_alone(number: int, seed: int) -> None:
    cluster = clusters()[number]
    arrays = with_other_state(cluster.encoded.arrays, cluster.encoded.arrays.nodes.is_real, np.random.default_rng(seed))
    whole = rows(arrays, cluster.pod_class, arrays.nodes.is_real, OWN)
    for node in range(cluster.num_nodes):
        alone = rows_of(arrays, slice(node, node + 1))
        np.testing.assert_array_equal(rows(alone, cluster.pod_class, alone.nodes.is_real, OWN)[0], whole[node])


@pytest.mark.parametrize("number", [0, NUM_CLUSTERS + 3, 2 * NUM_CLUSTERS])
def test_a_nodes_own_features_are_computed_for_many_classes_at_once(number: int) -> None:
    cluster = clusters()[number]
    arrays, classes = cluster.encoded.arrays, np.arange(len(cluster.encoded.specs))
    compiled = jax.jit(lambda alone: columns(View(alone, jnp.asarray(classes), alone.nodes.is_real), OWN))
    for node in range(cluster.num_nodes + 1):  # the last is padding
        alone = rows_of(arrays, slice(node, node + 1))
        want = np.stack([rows(arrays, pod_class, arrays.nodes.is_real, OWN)[node] for pod_class in classes])
        found = columns(View(alone, classes, alone.nodes.is_real), OWN)
        np.testing.assert_array_equal(found, want)
        np.testing.assert_allclose(compiled(jax_arrays.to_jax(alone)), want, rtol=0, atol=1e-6)
