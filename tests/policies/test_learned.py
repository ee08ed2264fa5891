"""A learned policy as a heuristic: what its network computes, in both libraries; a hybrid begins as its heuristic."""

from typing import Any

import jax
import msgspec
import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.choose import TIE_TOLERANCE, choose
from longshore.core.arrays.cluster_arrays import rows_of
from longshore.core.arrays.features import feature_specs
from longshore.core.arrays.gpu import take_fullest
from longshore.core.arrays.ops import Array
from longshore.core.arrays.place import place
from longshore.core.network.bundle import Bundle, Envelope, LoadScale
from longshore.core.network.bundle_files import read_bundle, write_bundle
from longshore.core.network.forward import Op, forward
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.policies import REGISTRY
from longshore.policies.base import Policy, choose_node
from longshore.policies.inputs import policy_inputs
from longshore.policies.learned import learned
from support import jax_arrays
from support.builders import make_node, make_pod, make_snapshot
from support.bundle_samples import (
    FEATURES,
    OWN_FEATURES,
    make_bundle,
    make_by_load,
    make_dial,
    make_fixed,
    make_hybrid,
    make_own,
)
from support.compiling import encode
from support.uniform import PADDED_NODES, Cluster, device_clusters

SAMPLES = [
    pytest.param(make_bundle(), id="plain"),
    pytest.param(make_hybrid("energy-latency"), id="hybrid"),
    pytest.param(make_dial(), id="with a preference"),
    pytest.param(make_fixed(PADDED_NODES), id="of fixed size"),
    pytest.param(make_own(), id="of single nodes"),
    pytest.param(make_by_load(), id="by load"),
]
OWN = [pytest.param(make_own(), id="any load"), pytest.param(make_by_load(), id="by load")]
# The score is not a sum of what an empty and a full cluster would give.
BENT_BY_LOAD = (
    Op("outer", ("pod_kind", "load"), "mix"),
    Op("mixed", ("rows", "mix"), "straight", ("weights", "biases")),
    Op("relu", ("straight",), "score"),
)


def score(heuristic: Policy, cluster: Cluster) -> Any:
    arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
    return heuristic.score(arrays, pod_class, filters.feasible(arrays, pod_class))


def test_scores_are_those_of_the_network():
    policy, cluster = make_bundle(), device_clusters(1)[0]
    arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
    feasible = filters.feasible(arrays, pod_class)
    inputs = policy_inputs(arrays, pod_class, feasible, FEATURES, None, np.zeros(0))
    want = forward(policy.ops, policy.tensors, inputs)["score"]
    found = score(learned(policy), cluster)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, want)
    assert len(set(found.tolist())) > 1


@pytest.mark.parametrize("policy", SAMPLES)
def test_numpy_and_jax_score_alike(policy: Bundle):
    heuristic = learned(policy)

    @jax.jit
    def compiled(arrays: Any, pod_class: Array) -> Array:
        return heuristic.score(arrays, pod_class, filters.feasible(arrays, pod_class))

    for cluster in device_clusters(16):
        found = compiled(jax_arrays.to_jax(cluster.uniform), np.asarray(cluster.pod_class))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, score(heuristic, cluster), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", SAMPLES)
def test_a_reloaded_policy_scores_the_same_bits(policy: Bundle):
    again = learned(read_bundle(write_bundle(policy)))
    for cluster in device_clusters(8):
        assert score(again, cluster).tobytes() == score(learned(policy), cluster).tobytes()


@pytest.mark.parametrize("prior", list(REGISTRY.table))
def test_an_untrained_hybrid_is_its_heuristic(prior: str):
    hybrid, plain = learned(make_hybrid(prior)), REGISTRY.load(prior)
    assert hybrid.has_random_ties == plain.has_random_ties
    assert hybrid.is_order_dependent == plain.is_order_dependent
    assert hybrid.devices is plain.devices
    for cluster in device_clusters(16):
        feasible = filters.feasible(cluster.uniform, np.asarray(cluster.pod_class))
        first, second = (
            int(choose(cluster.uniform, score(one, cluster), feasible, has_random_ties=one.has_random_ties))
            for one in (hybrid, plain)
        )
        assert first == second


def test_weights_given_at_run_time_change_the_scores():
    cluster = device_clusters(1)[0]
    own, equal, other = (
        score(learned(make_dial(), preference), cluster)
        for preference in (None, {"latency": 1.0, "watts": 1.0}, {"watts": 1.0})
    )
    np.testing.assert_array_equal(own, equal)
    assert not np.allclose(own, other)


def test_a_network_of_fixed_size_refuses_other_clusters():
    with pytest.raises(InputError, match=f"of {PADDED_NODES} nodes, expected 4"):
        score(learned(make_fixed(4)), device_clusters(1)[0])


def test_only_networks_of_fixed_size_depend_on_the_order_of_nodes():
    assert learned(make_fixed(4)).is_order_dependent
    assert not learned(make_bundle()).is_order_dependent


def test_a_prior_that_is_not_installed_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean `random`"):
        learned(make_hybrid("randm"))


@pytest.mark.parametrize("may_defer", [False, True])
def test_a_reloaded_policy_defers_if_it_may(may_defer: bool):
    lowered = make_bundle().tensors | {"b2": np.full(1, -1e3, np.float32)}
    policy = learned(read_bundle(write_bundle(make_bundle(tensors=lowered, may_defer=may_defer))))
    for cluster in device_clusters(4):
        pod_class = np.asarray(cluster.pod_class)
        feasible = filters.feasible(cluster.uniform, pod_class)
        assert (choose_node(policy, cluster.uniform, pod_class, feasible).node >= 0) == (
            feasible.any() and not may_defer
        )


def test_a_policy_of_the_nodes_own_rows_looks_at_one_node_at_a_time():
    assert learned(make_own()).by_node is not None
    assert learned(make_by_load()).by_node is not None
    assert learned(make_own(tie_tolerance=0.5)).tie_tolerance == 0.5


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(make_bundle(), id="pools over nodes"),
        pytest.param(make_hybrid("fgd"), id="corrects a heuristic"),
        pytest.param(make_own(features=feature_specs((*OWN_FEATURES[1:], "gpu_size"))), id="reads others' sizes"),
        pytest.param(make_own(may_defer=True), id="may defer"),
        pytest.param(make_by_load(ops=BENT_BY_LOAD), id="bends what depends on the load"),
    ],
)
def test_other_policies_look_at_the_cluster(policy: Bundle):
    heuristic = learned(policy)
    assert heuristic.by_node is None
    assert heuristic.may_defer == policy.may_defer


@pytest.mark.parametrize("policy", OWN)
def test_scores_of_single_nodes_are_those_of_the_network(policy: Bundle):
    for cluster in device_clusters(16):
        arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
        feasible = filters.feasible(arrays, pod_class)
        inputs = policy_inputs(arrays, pod_class, feasible, OWN_FEATURES, None, np.zeros(0))
        want = forward(policy.ops, policy.tensors, inputs)["score"]
        np.testing.assert_allclose(score(learned(policy), cluster), want, rtol=0, atol=1e-5)


def test_what_is_kept_of_a_node_serves_any_load():
    """The same node, in clusters that are more or less full, has the same facts and another score."""
    heuristic = learned(make_by_load())
    encoded = encode(make_snapshot(*[make_node(name).gpu(1, "T4") for name in "ab"], make_pod("p").gpu(1, 400)))
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(encoded.snapshot.pods[0]))
    scores, facts = [], []
    for used in (0, 300, 1000):
        full = place(arrays, pod_class, np.asarray(1), np.array([used]))
        facts.append(heuristic.by_node.look(full, pod_class)[0][:, 0])
        scores.append(float(heuristic.score(full, pod_class, full.nodes.is_real)[0]))
        share = used / 2000
        np.testing.assert_allclose(scores[-1], (1 - share) * facts[-1][0] + share * facts[-1][1], atol=1e-5)
    assert len(set(scores)) == 3
    np.testing.assert_array_equal(facts[0], facts[1])
    np.testing.assert_array_equal(facts[0], facts[2])


def test_scores_follow_the_load_scale_of_the_bundle():
    scale = LoadScale(cpu_beforehand=1.0, gpus_beforehand=0.01, scarce_from=0.1, scarce_over=0.1, little_below=0.01)
    cluster = device_clusters(4)[3]
    for policy in (make_by_load(), make_by_load(ops=BENT_BY_LOAD)):  # looked at node by node, and not
        other = msgspec.structs.replace(policy, load=scale)
        assert not np.array_equal(score(learned(policy), cluster), score(learned(other), cluster))


def test_many_classes_on_one_node_score_as_one_class_on_many_nodes():
    heuristic = learned(make_own())
    rule = heuristic.by_node
    assert rule is not None
    for cluster in device_clusters(8):
        arrays, classes = cluster.encoded.arrays, np.arange(len(cluster.encoded.specs))
        want = np.stack([heuristic.score(arrays, pod_class, arrays.nodes.is_real) for pod_class in classes], axis=1)
        for node in range(cluster.num_nodes):
            alone = rows_of(arrays, slice(node, node + 1))
            found = rule.facts(alone, classes, take_fullest(alone, classes))
            assert found.shape == (1, len(classes))
            np.testing.assert_allclose(found[0], want[node], rtol=0, atol=1e-5)


def test_many_classes_on_one_node_score_the_same_in_jax():
    rule = learned(make_own()).by_node
    assert rule is not None
    look = jax.jit(lambda alone, classes: rule.facts(alone, classes, take_fullest(alone, classes)))
    cluster = device_clusters(4)[3]
    classes = np.arange(len(cluster.encoded.specs))
    for node in range(cluster.num_nodes):
        alone = rows_of(cluster.encoded.arrays, slice(node, node + 1))
        want = rule.facts(alone, classes, take_fullest(alone, classes))
        np.testing.assert_allclose(look(jax_arrays.to_jax(alone), classes), want, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("tie_tolerance", "want"), [(TIE_TOLERANCE, "c"), (0.5, "b"), (1.0, "a")])
@pytest.mark.parametrize("features", [("node_cpu_used",), ("node_cpu_used", "cluster_cpu_mean")], ids=["own", "plain"])
def test_a_reloaded_policy_gives_ties_to_the_lowest_name(features: tuple[str, ...], tie_tolerance: float, want: str):
    weights = np.zeros((len(features), 1), np.float32)
    weights[0] = 2.0
    policy = make_bundle(
        features=feature_specs(features),
        ops=(Op("linear", ("rows",), "score", ("w", "b")),),
        tensors={"w": weights, "b": np.zeros(1, np.float32)},
        envelope=Envelope((0.0,) * len(features), (1.0,) * len(features)),
        tie_tolerance=tie_tolerance,
    )
    stored = learned(read_bundle(write_bundle(policy)))
    # Used by 0, 0.3 and 0.5 of their CPU: they score 0, 0.6 and 1.
    running = (make_pod("q").cpu(1200).on("b"), make_pod("r").cpu(2000).on("c"))
    encoded = encode(make_snapshot(*map(make_node, "abc"), make_pod("p").cpu(1), *running))
    arrays, pod_class = encoded.arrays, np.asarray(encoded.class_of(encoded.snapshot.pods[0]))
    choice = choose_node(stored, arrays, pod_class, arrays.nodes.is_real)
    np.testing.assert_allclose(choice.scores[:3], [0.0, 0.6, 1.0], atol=1e-6)
    assert encoded.node_names[int(choice.node)] == want
