"""What is kept by class of pods: for how long, and of how many classes."""

import numpy as np
import pytest

from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.encode import encode
from longshore.core.arrays.ops import set_at
from longshore.core.arrays.place import place
from longshore.core.words.scope import Scope
from longshore.policies.kept import Kept
from support.builders import random_snapshot


@pytest.fixture
def arrays() -> ClusterArrays:
    return encode(random_snapshot(3)).arrays


def with_readings(arrays: ClusterArrays) -> ClusterArrays:
    latency = set_at(arrays.readings.latency_ms, 0, 7.0)
    return arrays._replace(readings=arrays.readings._replace(latency_ms=latency))


def kept_for(arrays: ClusterArrays, scope: Scope) -> Kept[str]:
    kept: Kept[str] = Kept(scope)
    assert kept.find(arrays, 0) is None
    kept.put(0, "value")
    return kept


@pytest.mark.parametrize("scope", [Scope.NODE, Scope.READINGS])
def test_values_outlive_placements_and_words_that_say_the_same(arrays: ClusterArrays, scope: Scope) -> None:
    kept = kept_for(arrays, scope)
    devices = np.zeros(arrays.state.gpu_used.shape[1], np.int64)
    assert kept.find(place(arrays, np.asarray(0), np.asarray(0), devices), 0) == "value"
    assert kept.find(arrays._replace(nodes=arrays.nodes._replace()), 0) == "value"


@pytest.mark.parametrize("scope", [Scope.NODE, Scope.READINGS])
def test_values_are_dropped_with_the_nodes_they_are_about(arrays: ClusterArrays, scope: Scope) -> None:
    kept = kept_for(arrays, scope)
    larger = arrays.nodes._replace(allocatable=arrays.nodes.allocatable * 2)
    assert kept.find(arrays._replace(nodes=larger), 0) is None
    assert kept.find(arrays, 0) is None


def test_other_readings_drop_what_depends_on_readings_alone(arrays: ClusterArrays) -> None:
    assert kept_for(arrays, Scope.NODE).find(with_readings(arrays), 0) == "value"
    assert kept_for(arrays, Scope.READINGS).find(with_readings(arrays), 0) is None


def test_the_class_that_was_not_asked_for_the_longest_goes_first(arrays: ClusterArrays) -> None:
    kept = kept_for(arrays, Scope.NODE)
    kept.put(1, "other", 2)
    assert kept.find(arrays, 0) == "value"
    kept.put(2, "third", 2)
    assert list(kept._values) == [0, 2]
    kept.put(0, "again", 2)
    assert list(kept._values) == [2, 0]
