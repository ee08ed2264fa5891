"""The shared measures of load."""

import numpy as np

from longshore.core.arrays.cluster_arrays import is_on
from longshore.objectives.load import has_pods, is_unused, load, num_nodes, used_ratio
from objectives.clusters import daemon, node, spec, transition

STEP = transition([node("a"), node("b", 500), node("c", 0)], {"a": [spec(300), spec(0)]}, "b", padded_nodes=5)


def test_load_is_pods_or_a_share() -> None:
    assert list(load(STEP.after, "pods")) == [2, 1, 0, 0, 0]
    assert list(load(STEP.after, "cpu")) == [0.3, 0.2, 0, 0, 0]
    assert list(used_ratio(STEP.before, "disk")) == [0.2, 0, 0, 0, 0]


def test_padding_rows_are_neither_on_nor_unused() -> None:
    assert list(is_on(STEP.after)) == [True, True, False, False, False]
    assert list(is_unused(STEP.before, "pods", strict=False)) == [False, True, True, False, False]
    assert num_nodes(STEP.after) == 3
    assert np.isfinite(load(STEP.after, "memory")).all()


def test_a_node_with_daemonsets_alone_has_pods_and_is_off() -> None:
    arrays = transition([node("a"), node("b")], {"b": [daemon()]}, "a").after
    assert list(has_pods(arrays)) == [True, True]
    assert list(is_on(arrays)) == [True, False]
