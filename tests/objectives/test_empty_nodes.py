"""`empty-nodes`: nodes without pods, or with enough that is free."""

import pytest

from longshore.core.words.errors import InputError
from longshore.objectives.empty_nodes import EmptyNodes
from objectives.clusters import daemon, node, spec, transition

NODES = [node("a"), node("b"), node("c"), node("d", 1000, 0)]
ON = {"a": [spec(), spec()], "b": [spec(10, 50, 0)]}


def test_empty_nodes_counts_nodes_without_pods() -> None:
    assert EmptyNodes().reward(transition(NODES, ON, "a", padded_nodes=9)) == 2.0
    assert EmptyNodes().reward(transition(NODES, ON, "c")) == 1.0


def test_empty_nodes_with_a_threshold_counts_nodes_that_are_nearly_free() -> None:
    # b has exactly 95 % of its memory free and counts; d has no memory and does not.
    step = transition(NODES, ON, "a", padded_nodes=9)
    assert EmptyNodes(threshold=0.95).reward(step) == 2.0
    assert EmptyNodes(threshold=0.96).reward(step) == 1.0
    assert EmptyNodes(threshold=0.95, resource="cpu").reward(step) == 3.0


@pytest.mark.parametrize("threshold", [0.0, 1.5, float("nan")])
def test_empty_nodes_refuses_thresholds_outside_the_share(threshold: float) -> None:
    with pytest.raises(InputError, match="threshold"):
        EmptyNodes(threshold=threshold)


def test_empty_nodes_may_have_daemonsets() -> None:
    assert EmptyNodes().reward(transition(NODES, ON | {"c": [daemon()]}, "a")) == 2.0
