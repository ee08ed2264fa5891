"""Tests of NodeAffinity's score: the weights of the preferences that match."""

from longshore.core.words.labels import Requirement
from longshore.core.words.pod import NodePreference, NodeSelectorTerm
from policies.plugins.scoring import score
from support.builders import PodBuilder, make_node, make_pod

NAME = "NodeAffinity"
NODES = (
    make_node("plain"),
    make_node("ssd").label("disk", "ssd"),
    make_node("both").label("disk", "ssd").label("zone", "a"),
)


def wish(weight: int, *expressions: Requirement) -> NodePreference:
    return NodePreference(weight, NodeSelectorTerm(expressions))


def new(*wishes: NodePreference) -> PodBuilder:
    return make_pod("new").spec(node_preferences=wishes)


SSD = Requirement("disk", "In", ("ssd",))
ZONE = Requirement("zone", "Exists")


def test_weights_of_matching_preferences_add_up() -> None:
    scores = score(NAME, *NODES, new(wish(10, SSD), wish(20, ZONE)))
    assert scores.raw == {"plain": 0, "ssd": 10, "both": 30}
    assert scores.normalized == {"plain": 0, "ssd": 33, "both": 100}


def test_all_expressions_of_a_preference_must_match() -> None:
    assert score(NAME, *NODES, new(wish(10, SSD, ZONE))).raw == {"plain": 0, "ssd": 0, "both": 10}


def test_a_preference_without_conditions_matches_nothing() -> None:
    assert score(NAME, *NODES, new(wish(10))).raw == {"plain": 0, "ssd": 0, "both": 0}


def test_nodes_that_match_equally_all_score_full() -> None:
    everywhere = Requirement("gone", "DoesNotExist")
    assert score(NAME, *NODES, new(wish(3, everywhere))).normalized == {"plain": 100, "ssd": 100, "both": 100}


def test_nodes_that_match_nothing_all_score_nothing() -> None:
    nothing = {"plain": 0, "ssd": 0, "both": 0}
    assert score(NAME, *NODES, make_pod("new")) == (nothing, nothing)


def test_an_infeasible_node_sets_no_scale() -> None:
    scores = score(NAME, *NODES, new(wish(10, SSD), wish(20, ZONE)), infeasible=("both",))
    assert scores.normalized == {"plain": 0, "ssd": 100}


def test_no_feasible_node_is_no_score() -> None:
    assert score(NAME, *NODES, new(wish(10, SSD)), infeasible=("plain", "ssd", "both")).normalized == {}
