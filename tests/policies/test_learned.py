"""A learned policy as a heuristic: what its network computes, in both libraries; a hybrid begins as its heuristic."""

from typing import Any

import jax
import numpy as np
import pytest

import jax_support
from longshore import filters
from longshore.core.bundle import read_bundle, write_bundle
from longshore.core.choose import choose
from longshore.core.errors import InputError, UnknownNameError
from longshore.core.forward import forward
from longshore.core.ops import Array
from longshore.core.policy import Policy
from longshore.policies import REGISTRY
from longshore.policies.heuristics.base import Heuristic
from longshore.policies.inputs import policy_inputs
from longshore.policies.learned import learned
from policy_samples import FEATURES, make_dial, make_fixed, make_hybrid, make_policy
from uniform import PADDED_NODES, Cluster, device_clusters

SAMPLES = [
    pytest.param(make_policy(), id="plain"),
    pytest.param(make_hybrid("energy-latency"), id="hybrid"),
    pytest.param(make_dial(), id="with a preference"),
    pytest.param(make_fixed(PADDED_NODES), id="of fixed size"),
]


def score(heuristic: Heuristic, cluster: Cluster) -> Any:
    arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
    return heuristic.score(arrays, pod_class, filters.feasible(arrays, pod_class))


def test_scores_are_those_of_the_network():
    policy, cluster = make_policy(), device_clusters(1)[0]
    arrays, pod_class = cluster.uniform, np.asarray(cluster.pod_class)
    feasible = filters.feasible(arrays, pod_class)
    inputs = policy_inputs(arrays, pod_class, feasible, FEATURES, None, np.zeros(0))
    want = forward(policy.ops, policy.tensors, inputs)["score"]
    found = score(learned(policy), cluster)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, want)
    assert len(set(found.tolist())) > 1


@pytest.mark.parametrize("policy", SAMPLES)
def test_numpy_and_jax_score_alike(policy: Policy):
    heuristic = learned(policy)

    @jax.jit
    def compiled(arrays: Any, pod_class: Array) -> Array:
        return heuristic.score(arrays, pod_class, filters.feasible(arrays, pod_class))

    for cluster in device_clusters(16):
        found = compiled(jax_support.to_jax(cluster.uniform), np.asarray(cluster.pod_class))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, score(heuristic, cluster), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", SAMPLES)
def test_a_reloaded_policy_scores_the_same_bits(policy: Policy):
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
    assert not learned(make_policy()).is_order_dependent


def test_a_prior_that_is_not_installed_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean `random`"):
        learned(make_hybrid("randm"))


@pytest.mark.parametrize("may_defer", [False, True])
def test_a_reloaded_policy_defers_if_it_may(may_defer: bool):
    lowered = make_policy().tensors | {"b2": np.full(1, -1e3, np.float32)}
    heuristic = learned(read_bundle(write_bundle(make_policy(tensors=lowered, may_defer=may_defer))))
    for cluster in device_clusters(4):
        feasible = filters.feasible(cluster.uniform, np.asarray(cluster.pod_class))
        node = int(heuristic.choose(cluster.uniform, score(heuristic, cluster), feasible))
        assert (node >= 0) == (feasible.any() and not may_defer)
