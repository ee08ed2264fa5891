"""Who has to go for a pod of a higher priority: worked out here, and what the plugin's kube-scheduler really does."""

import random
from typing import Any

import pytest

from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.plugin_preemption import (
    NODE_MILLIS,
    Newcomer,
    Running,
    draw_case,
    prove_preemption,
    victims_on,
    violation,
)
from longshore_lab.proof.same_nodes import repository_bundles

NUM_CASES = 8
NEW = Newcomer(2000, 100, may_preempt=True)
FULL: Running = {
    "low": {"a": (3000, -10), "b": (1000, 100)},
    "mixed": {"c": (2000, 0), "d": (2000, -10)},
    "high": {"e": (4000, 1000)},
}


@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        ({}, []),
        ({"a": (2000, 0)}, []),
        ({"a": (3000, 0)}, ["a"]),
        ({"a": (2000, -10), "b": (2000, 0)}, ["a"]),
        ({"a": (1000, 0), "b": (1000, 0), "c": (2000, 100)}, ["a", "b"]),
        ({"a": (3000, 100)}, None),
        ({"a": (4000, 1000)}, None),
    ],
)
def test_of_those_with_a_lower_priority_the_highest_stay(pods: dict[str, Any], victims: list[str] | None) -> None:
    assert victims_on(pods, NEW) == victims


def test_the_node_where_only_the_lowest_go_is_right() -> None:
    assert violation(FULL, NEW, "low", {"a"}) is None
    assert violation(FULL, NEW, "mixed", {"d"}) is None


@pytest.mark.parametrize(
    ("running", "new", "node", "gone", "words"),
    [
        (FULL, NEW, "mixed", {"c"}, "wrong ones"),
        (FULL, NEW, "mixed", set(), "wrong ones"),
        (FULL, NEW, "low", {"a", "b"}, "wrong ones"),
        (FULL, NEW, "low", {"a", "d"}, "wrong ones"),
        ({"x": {"a": (2000, 0), "b": (2000, 0)}}, NEW, "x", {"a", "b"}, "too many"),
        ({"x": {"a": (500, 0), "b": (3500, 0)}}, NEW, "x", {"a"}, "too few"),
        (FULL, NEW, "high", {"e"}, "lowest priority go first"),
        (FULL, NEW, None, set(), "lowest priority go first"),
        ({"x": {"a": (3000, 0)}, "y": {"b": (3000, -10)}}, NEW, "x", {"a"}, "lowest priority go first"),
        (FULL, Newcomer(2000, 100, may_preempt=False), "low", {"a"}, "nobody may go"),
        ({"x": {"a": (3000, 100)}}, NEW, "x", {"a"}, "nobody may go"),
        ({"x": {"a": (1000, 0)}}, NEW, "x", {"a"}, "there is room"),
        ({"x": {"a": (1000, 0)}}, NEW, None, set(), "there is room"),
    ],
)
def test_violations_are_found(running: Running, new: Newcomer, node: str | None, gone: set[str], words: str) -> None:
    assert words in str(violation(running, new, node, gone))


def test_drawn_nodes_are_not_over_full() -> None:
    draw = random.Random(1)
    for _ in range(50):
        running, new = draw_case(draw)
        assert all(sum(millis for millis, _ in pods.values()) <= NODE_MILLIS for pods in running.values())
        assert new.millis <= NODE_MILLIS


@pytest.mark.slow
async def test_the_plugin_preempts_as_upstream_does(plugin_cluster: LocalCluster) -> None:
    bundle = repository_bundles()["deepsets-32"]
    result = await prove_preemption(plugin_cluster, bundle, NUM_CASES, 1, lambda *_: None)
    assert result.violations == []
    assert result.cases == NUM_CASES == result.fitted + result.preempted + result.pending
    assert result.preempted > 0
