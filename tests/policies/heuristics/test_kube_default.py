"""Tests of kube-default: upstream's weights, totals by hand, and the same integers in NumPy and JAX."""

from typing import Any

import jax
import numpy as np
import pytest

from longshore.core.arrays.choose import choose
from longshore.core.arrays.ops import Array
from longshore.filters import feasible
from longshore.policies import REGISTRY
from longshore.policies.heuristics.kube_default import PLUGINS, POLICY, score
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode
from support.jax_arrays import to_jax
from support.uniform import Cluster, device_clusters, oracle_clusters

SERIES = {"upstream's constraints": lambda: oracle_clusters(400), "devices and latency": lambda: device_clusters(100)}
every_series = pytest.mark.parametrize("series", SERIES)


def everything(arrays: Any, pod_class: Array) -> dict[str, Array]:
    """Return every plugin's raw and normalised scores and the total, for the nodes that the filters leave."""
    mask = feasible(arrays, pod_class)
    found = {"total": score(arrays, pod_class, mask), "feasible": mask}
    for name, (_, plugin) in PLUGINS.items():
        found[f"{name} raw"] = plugin.raw(arrays, pod_class, mask)
        found[f"{name} normalised"] = plugin.normalize(arrays, pod_class, mask, found[f"{name} raw"])
    return found


def totals(*parts: NodeBuilder | PodBuilder) -> dict[str, int]:
    """Return the total of every node for the first pod that waits."""
    encoded = encode(make_snapshot(*parts))
    pod_class = encoded.class_of(encoded.snapshot.pending[0])
    mask = feasible(encoded.arrays, np.asarray(pod_class))
    return dict(zip(encoded.node_names, score(encoded.arrays, np.asarray(pod_class), mask).tolist(), strict=True))


def test_plugins_have_upstreams_weights() -> None:
    assert {name: weight for name, (weight, _) in PLUGINS.items()} == {
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "ImageLocality": 1,
    }


def test_kube_default_is_in_the_registry_with_random_ties() -> None:
    assert REGISTRY.load("kube-default") is POLICY
    assert POLICY.has_random_ties


def test_the_total_by_hand() -> None:
    nodes = (
        make_node("a").cpu("4").memory("8Gi"),
        make_node("b").cpu("4").memory("8Gi").taint("x", "", "PreferNoSchedule"),
    )
    # Both: 75 for what is left, 75 for a balance that stays. Only a: three times 100 for having no soft taint.
    assert totals(*nodes, make_pod("new").cpu("1").memory("2Gi")) == {"a": 450, "b": 150}


def test_equal_nodes_score_equally() -> None:
    # 97 for what is left, three times 100 for having no soft taint; a pod without requests changes no balance.
    assert totals(make_node("a"), make_node("b"), make_pod("new")) == {"a": 397, "b": 397}


def test_ties_go_to_every_node_in_turn_by_the_seed() -> None:
    chosen = set()
    for seed in range(20):
        arrays = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("new")), seed=seed).arrays
        mask = feasible(arrays, np.asarray(0))
        scores = score(arrays, np.asarray(0), mask)
        chosen.add(int(choose(arrays, scores, mask, has_random_ties=POLICY.has_random_ties)))
    assert chosen == {0, 1}


@every_series
def test_the_total_is_the_weighted_sum_of_normalised_scores(series: str) -> None:
    for cluster in SERIES[series]():
        found = everything(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        want = sum(weight * found[f"{name} normalised"] for name, (weight, _) in PLUGINS.items())
        np.testing.assert_array_equal(found["total"], want)


@every_series
def test_normalised_scores_of_feasible_nodes_are_between_0_and_100(series: str) -> None:
    for cluster in SERIES[series]():
        found = everything(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        for name in PLUGINS:
            scores = found[f"{name} normalised"][found["feasible"]]
            assert ((scores >= 0) & (scores <= 100)).all(), name


@every_series
def test_numpy_and_jax_agree_to_the_last_bit(series: str) -> None:
    compiled = jax.jit(everything)
    for number, cluster in enumerate(SERIES[series]()):
        want = everything(cluster.uniform, np.asarray(cluster.pod_class))
        got = compiled(to_jax(cluster.uniform), cluster.pod_class)
        for name, scores in want.items():
            assert scores.dtype == got[name].dtype == (bool if name == "feasible" else np.int64), name
            np.testing.assert_array_equal(np.asarray(got[name]), scores, err_msg=f"cluster {number}: {name}")


@every_series
def test_many_classes_at_once_score_as_one_by_one(series: str) -> None:
    # Under vmap the cluster is one and the classes are many: then XLA would divide by reciprocals, if it were let.
    compiled = jax.jit(jax.vmap(everything, in_axes=(None, 0)))
    for cluster in SERIES[series]()[:20]:
        arrays, classes = cluster.uniform, np.arange(len(cluster.uniform.classes.request))
        got = compiled(to_jax(arrays), classes)
        for pod_class in classes:
            for name, scores in everything(arrays, pod_class).items():
                np.testing.assert_array_equal(np.asarray(got[name][pod_class]), scores, err_msg=name)


@pytest.mark.parametrize("span", [49, 98, 103, 107, 161, 187], ids=lambda span: f"span {span}")
def test_the_best_score_of_affinity_is_100_in_jax_too(span: int) -> None:
    # For these spans `span * (1 / span)` is below 1 in float64.
    _, plugin = PLUGINS["InterPodAffinity"]
    normalize = jax.jit(lambda feasible, weights: plugin.normalize(None, None, feasible, weights))
    assert normalize(np.array([True, True]), np.array([0, span])).tolist() == [0, 100]


@every_series
def test_terms_that_are_padding_change_nothing(series: str) -> None:
    for number, cluster in enumerate(SERIES[series]()):
        want = everything(cluster.encoded.arrays, np.asarray(cluster.pod_class))
        got = everything(cluster.uniform, np.asarray(cluster.pod_class))
        nodes = np.flatnonzero(want["feasible"])
        for name, scores in want.items():
            np.testing.assert_array_equal(got[name][nodes], scores[nodes], err_msg=f"cluster {number}: {name}")


def masked(cluster: Cluster, nodes: list[int]) -> Array:
    mask = np.zeros(len(cluster.encoded.arrays.nodes.is_real), bool)
    mask[nodes] = True
    return mask


def test_no_feasible_node_is_scored_without_a_warning() -> None:
    # Warnings are errors in these tests: a division by nothing or an overflow would show.
    for cluster in oracle_clusters(400):
        assert score(cluster.encoded.arrays, np.asarray(cluster.pod_class), masked(cluster, [])).dtype == np.int64


def test_one_feasible_node_is_scored_within_bounds() -> None:
    most = 100 * sum(weight for weight, _ in PLUGINS.values())
    for cluster in oracle_clusters(400):
        node = cluster.num_nodes - 1
        total = score(cluster.encoded.arrays, np.asarray(cluster.pod_class), masked(cluster, [node]))[node]
        assert 0 <= total <= most
