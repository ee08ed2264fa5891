"""Clusters that are not like those that a policy was trained on."""

from longshore.core.network.bundle import Envelope
from longshore.deciding.envelope import outside_of
from support.builders import make_node, make_pod, make_snapshot
from support.bundle_samples import FEATURES, make_bundle
from support.compiling import encode

CLUSTER = encode(make_snapshot(make_node("a"), make_node("b"), make_pod("p").cpu("1"), make_pod("q").cpu("2")))


def bundle_that_met(low: float, high: float):
    return make_bundle(envelope=Envelope((low,) * len(FEATURES), (high,) * len(FEATURES)))


def test_within_its_training_nothing_is_said() -> None:
    found = outside_of(bundle_that_met(-1.0, 1.0), CLUSTER)
    assert (found.share, found.beyond, found.warning("mine")) == (0.0, (), None)


def test_what_lies_outside_is_told_by_feature_with_how_far() -> None:
    found = outside_of(bundle_that_met(-1.0, 0.3), CLUSTER)
    told = {one.feature: one for one in found.beyond}
    assert told["after_cpu_used"].farthest == 0.5
    assert told["after_cpu_used"].share == 0.5
    warning = found.warning("mine")
    assert warning is not None
    assert warning.startswith("mine was not trained for clusters like this one: ")
    assert "`after_cpu_used` (as far as 0.5; in training -1 to 0.3)" in warning


def test_a_cluster_that_is_far_outside_is_not_scheduled_by_the_plugin() -> None:
    warning = outside_of(bundle_that_met(2.0, 3.0), CLUSTER).warning("mine")
    assert warning is not None
    assert "100%" in warning
    assert warning.endswith("would not use it here")


def test_an_empty_cluster_lies_nowhere() -> None:
    assert outside_of(bundle_that_met(2.0, 3.0), encode(make_snapshot(make_pod("p")))).share == 0.0
    assert outside_of(bundle_that_met(2.0, 3.0), encode(make_snapshot(make_node("a")))).share == 0.0
