"""`waste`: the unused share of the nodes that are on."""

import pytest

from longshore.objectives.waste import Waste
from objectives.clusters import node, spec, transition


def test_waste_weighs_nodes_by_capacity_and_leaves_out_those_that_are_off() -> None:
    nodes = [node("a", 1000, 1000), node("b", 3000, 1000), node("c", 9000, 9000)]
    step = transition(nodes, {"b": [spec(1000, 400)]}, "a", spec(500, 200), padded_nodes=5)
    # CPU: 500 + 2000 of 4000 unused; memory: 800 + 600 of 2000.
    assert Waste().reward(step) == pytest.approx(-(2500 / 4000 + 1400 / 2000) / 2)


def test_waste_does_not_let_overcommit_make_up_for_waste() -> None:
    nodes = [node("a", 1000, 1000), node("b", 1000, 1000)]
    step = transition(nodes, {"b": [spec(2000, 2000)]}, "a", spec(500, 500))
    assert Waste().reward(step) == pytest.approx(-500 / 2000)


def test_waste_of_nodes_that_are_full_is_zero() -> None:
    assert Waste().reward(transition([node("a")], {}, "a", spec(1000, 1000))) == 0.0
