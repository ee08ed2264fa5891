"""`ee`: the truncated tenths of unused nodes, and the thesis' strict rule."""

import pytest

from longshore.objectives.base import Transition
from longshore.objectives.ee import EnergyEfficient
from objectives.clusters import daemon, node, spec, transition

SEVEN = [node(f"n{i}") for i in range(7)]
FREE = spec(0, 0, 0)


def placed(to: str) -> Transition:
    """Three of seven nodes are on before: n0 with two pods, n1 and n2 with one."""
    return transition(SEVEN, {"n0": [spec(), spec()], "n1": [spec()], "n2": [FREE]}, to)


@pytest.mark.parametrize(
    ("to", "want"),
    [
        pytest.param("n0", 5.0, id="4 of 7 unused: 5.71 is cut to 5"),
        pytest.param("n3", 4.0, id="a fourth node is switched on: 3 of 7"),
    ],
)
def test_ee_counts_nodes_without_pods(to: str, want: float) -> None:
    assert EnergyEfficient().reward(placed(to)) == want


@pytest.mark.parametrize("measure", ["cpu", "memory", "disk"])
def test_ee_by_a_resource_counts_nodes_where_nothing_is_requested(measure: str) -> None:
    # n2 has a pod that requests nothing: unused by every resource, but not by pods.
    assert EnergyEfficient(measure=measure).reward(placed("n0")) == 10 * 5 // 7


def test_strict_ee_ends_the_episode_unless_the_most_loaded_node_was_chosen() -> None:
    strict = EnergyEfficient(strict=True)
    right, wrong = placed("n0"), placed("n1")
    assert (strict.reward(right), bool(strict.ends_episode(right))) == (5.0, False)
    assert (strict.reward(wrong), bool(strict.ends_episode(wrong))) == (0.0, True)
    assert not EnergyEfficient().ends_episode(wrong)


def test_strict_ee_takes_any_of_several_most_loaded_nodes() -> None:
    strict = EnergyEfficient(strict=True)
    for to in ("n0", "n6"):
        step = transition(SEVEN, {}, to)
        assert (strict.reward(step), bool(strict.ends_episode(step))) == (8.0, False)


@pytest.mark.parametrize("measure", ["pods", "cpu"])
def test_ee_does_not_count_daemonsets_unless_it_is_strict(measure: str) -> None:
    on = {"n0": [spec(), spec()], "n1": [daemon()], "n2": [daemon()]}
    step = transition(SEVEN, on, "n0")
    assert EnergyEfficient(measure=measure).reward(step) == 10 * 6 // 7
    assert EnergyEfficient(measure=measure, strict=True).reward(step) == 10 * 4 // 7
