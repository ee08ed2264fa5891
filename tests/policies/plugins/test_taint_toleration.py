"""Tests of TaintToleration's score: soft taints that the pod does not tolerate, counted and reversed."""

import pytest

from policies.plugins.scoring import score
from support.builders import make_node, make_pod

NAME = "TaintToleration"
SOFT = "PreferNoSchedule"
NODES = (
    make_node("clean"),
    make_node("one").taint("a", effect=SOFT),
    make_node("two").taint("a", effect=SOFT).taint("b", effect=SOFT),
)


def test_fewer_soft_taints_score_higher() -> None:
    assert score(NAME, *NODES, make_pod("new")) == (
        {"clean": 0, "one": 1, "two": 2},
        {"clean": 100, "one": 50, "two": 0},
    )


def test_hard_taints_are_not_counted() -> None:
    assert score(NAME, make_node("a").taint("x", effect="NoExecute"), make_pod("new")).raw == {"a": 0}


@pytest.mark.parametrize(
    ("effect", "want"),
    [
        pytest.param(SOFT, {"clean": 0, "one": 0, "two": 1}, id="of this effect"),
        pytest.param("", {"clean": 0, "one": 0, "two": 1}, id="of every effect"),
        pytest.param("NoSchedule", {"clean": 0, "one": 1, "two": 2}, id="of another effect"),
    ],
)
def test_tolerated_taints_are_not_counted(effect: str, want: dict[str, int]) -> None:
    assert score(NAME, *NODES, make_pod("new").toleration("a", effect=effect)).raw == want


def test_nodes_without_taints_all_score_full() -> None:
    assert score(NAME, make_node("a"), make_node("b"), make_pod("new")).normalized == {"a": 100, "b": 100}


def test_nodes_with_equally_many_taints_all_score_nothing() -> None:
    nodes = (make_node(name).taint("x", effect=SOFT) for name in "ab")
    assert score(NAME, *nodes, make_pod("new")).normalized == {"a": 0, "b": 0}


def test_an_infeasible_node_sets_no_scale() -> None:
    assert score(NAME, *NODES, make_pod("new"), infeasible=("two",)).normalized == {"clean": 100, "one": 0}


def test_one_feasible_node_is_its_own_scale() -> None:
    assert score(NAME, *NODES, make_pod("new"), infeasible=("clean", "one")).normalized == {"two": 0}


def test_no_feasible_node_is_no_score() -> None:
    assert score(NAME, *NODES, make_pod("new"), infeasible=("clean", "one", "two")).normalized == {}
