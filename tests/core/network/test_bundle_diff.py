"""Differences of two policies: all of them, and only them."""

import numpy as np

from longshore.core.arrays.features import feature_specs
from longshore.core.network.bundle import Interval
from longshore.core.network.bundle_diff import diff_bundles, largest_weight_change
from support.bundle_samples import FEATURES, deepsets_tensors, make_bundle, make_hybrid


def test_equal_policies_do_not_differ():
    assert diff_bundles(make_bundle(), make_bundle()) == []


def test_one_changed_setting_is_one_line():
    other = make_bundle(provenance=make_bundle().provenance | {"config": {"lr": 0.01}})
    assert diff_bundles(make_bundle(), other) == [("provenance: config.lr", "0.001", "0.01")]


def test_letting_pods_wait_is_a_difference():
    assert diff_bundles(make_bundle(), make_bundle(may_defer=True)) == [("may_defer", "False", "True")]


def test_results_objective_and_features_are_compared():
    other = make_bundle(
        objective="watts", metrics={"reward": Interval(2, 1, 3)}, features=feature_specs((*FEATURES[:3], "cost"))
    )
    found = {
        difference.what: (difference.first, difference.second) for difference in diff_bundles(make_bundle(), other)
    }
    assert found["objective"] == ("el-rl", "watts")
    assert found["metrics: reward"] == ("1.5 [1.25, 1.75]", "2 [1, 3]")
    assert found["metrics: steps_per_second"] == ("1000", "-")
    assert found["features"] == ("is_feasible@1", "cost@1")


def test_the_same_features_in_another_order_differ():
    other = make_bundle(features=tuple(reversed(make_bundle().features)))
    assert "features" in {difference.what for difference in diff_bundles(make_bundle(), other)}


def test_networks_are_compared_operation_by_operation():
    found = {difference.what: difference for difference in diff_bundles(make_bundle(), make_hybrid("random"))}
    assert found["operations"].second == "score = scale(prior) [one]"
    assert found["tensor: w1"].second == "-"
    assert found["prior"] == ("prior", "None", "random")


def test_the_largest_weight_change_is_found():
    tensors = deepsets_tensors(len(FEATURES))
    tensors["b1"] = tensors["b1"] + np.float32(0.5)
    tensors["w2"] = tensors["w2"] - np.float32(2)
    name, change = largest_weight_change(make_bundle(), make_bundle(tensors=tensors)) or ("", 0.0)
    assert (name, round(change, 3)) == ("w2", 2.0)
    assert largest_weight_change(make_bundle(), make_bundle()) is None
