"""`variance`: minus the variance of the CPU ratio."""

import pytest

from longshore.objectives.variance import Variance
from objectives.clusters import node, spec, transition


def test_variance_is_over_the_real_nodes() -> None:
    # Ratios 0.5, 0.1 and 0: mean 0.2, squares 0.09, 0.01, 0.04.
    nodes = [node("a"), node("b"), node("c", 4000)]
    step = transition(nodes, {"a": [spec(400)], "b": [spec(100)]}, "a", padded_nodes=8)
    assert Variance().reward(step) == pytest.approx(-0.14 / 3)


def test_variance_of_equal_nodes_is_zero() -> None:
    step = transition([node("a"), node("b")], {"b": [spec()]}, "a")
    assert Variance().reward(step) == 0.0
