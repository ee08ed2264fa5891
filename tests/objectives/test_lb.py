"""`lb`: 10, 0 or -1 by the load before the placement."""

import pytest

from longshore.objectives.lb import LoadBalance
from objectives.clusters import node, spec, transition

NODES = [node("a"), node("b"), node("c"), node("d")]
ON = {"a": [spec(), spec()], "b": [spec()], "c": [], "d": []}


@pytest.mark.parametrize(("to", "want"), [("a", -1.0), ("b", 0.0), ("c", 10.0), ("d", 10.0)])
def test_lb_rewards_the_least_loaded_node(to: str, want: float) -> None:
    step = transition(NODES, ON, to)
    assert LoadBalance().reward(step) == want
    assert LoadBalance(strict=True).reward(step) == want
    assert bool(LoadBalance(strict=True).ends_episode(step)) is (want == -1.0)
    assert not LoadBalance().ends_episode(step)


def test_lb_by_cpu_compares_shares_and_not_amounts() -> None:
    nodes = [node("small", 1000), node("large", 4000)]
    step = transition(nodes, {"small": [spec(300)], "large": [spec(400)]}, "large")
    assert LoadBalance(measure="cpu").reward(step) == 10.0


def test_lb_where_all_are_equal_calls_none_wrong() -> None:
    step = transition(NODES, {}, "b")
    assert LoadBalance(strict=True).reward(step) == 10.0
    assert not LoadBalance(strict=True).ends_episode(step)
