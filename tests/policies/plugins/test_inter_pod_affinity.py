"""Tests of InterPodAffinity's score: wishes about others and of others, stretched over 0..100."""

from typing import Any

import pytest

from longshore.core.words.labels import Selector
from longshore.core.words.pod import AffinityTerm, WeightedAffinityTerm
from policies.plugins.scoring import score
from support.builders import PodBuilder, make_node, make_pod

NAME = "InterPodAffinity"
NODES = (
    make_node("a1").label("zone", "a"),
    make_node("a2").label("zone", "a"),
    make_node("b").label("zone", "b"),
    make_node("bare"),
)
NAMES = ("a1", "a2", "b", "bare")


def near(weight: int, key: str = "zone", **labels: str) -> WeightedAffinityTerm:
    return WeightedAffinityTerm(weight, AffinityTerm(key, Selector().extended(labels)))


def web(*node_names: str, **spec: Any) -> list[PodBuilder]:
    return [make_pod(f"web-{i}").label("app", "web").spec(**spec).on(name) for i, name in enumerate(node_names)]


def test_weights_count_every_match_in_the_domain() -> None:
    new = make_pod("new").spec(preferred_affinity=(near(5, app="web"),))
    scores = score(NAME, *NODES, *web("a1", "a2", "b"), new)
    assert scores.raw == {"a1": 10, "a2": 10, "b": 5, "bare": 0}
    assert scores.normalized == {"a1": 100, "a2": 100, "b": 50, "bare": 0}


def test_anti_affinity_counts_below_nothing() -> None:
    new = make_pod("new").spec(preferred_anti_affinity=(near(4, app="web"),))
    scores = score(NAME, *NODES, *web("a1"), new)
    assert scores.raw == {"a1": -4, "a2": -4, "b": 0, "bare": 0}
    assert scores.normalized == {"a1": 0, "a2": 0, "b": 100, "bare": 100}


def test_scores_between_the_ends_are_rounded_down() -> None:
    new = make_pod("new").spec(preferred_affinity=(near(1, app="web"),))
    # 0, 1 and 3 pods: a third of the way is 33.
    assert score(NAME, *NODES, *web("b", "a1", "a2", "a2"), new).normalized == {
        "a1": 100,
        "a2": 100,
        "b": 33,
        "bare": 0,
    }


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"preferred_affinity": (near(7, app="new"),)}, 7, id="that prefer it near"),
        pytest.param({"preferred_anti_affinity": (near(7, app="new"),)}, -7, id="that prefer it away"),
        pytest.param({"affinity": (near(0, app="new").term,)}, 1, id="that require one like it: worth 1"),
        pytest.param(
            {"anti_affinity": (near(0, app="new").term,)}, 0, id="that require it away: the filter's business"
        ),
        pytest.param({"preferred_affinity": (near(7, app="other"),)}, 0, id="that mean another"),
    ],
)
def test_wishes_of_existing_pods_count(spec: dict[str, Any], want: int) -> None:
    scores = score(NAME, *NODES, *web("b", **spec), make_pod("new").label("app", "new"))
    assert scores.raw == {"a1": 0, "a2": 0, "b": want, "bare": 0}


def test_own_wishes_and_those_of_others_add_up() -> None:
    new = make_pod("new").label("app", "new").spec(preferred_affinity=(near(5, app="web"),))
    assert score(NAME, *NODES, *web("b", preferred_anti_affinity=(near(2, app="new"),)), new).raw["b"] == 3


def test_required_affinity_of_the_pod_itself_is_not_scored() -> None:
    new = make_pod("new").spec(affinity=(near(0, app="web").term,))
    assert score(NAME, *NODES, *web("b"), new).raw == dict.fromkeys(NAMES, 0)


def test_pods_of_other_namespaces_do_not_count() -> None:
    new = make_pod("new").namespace("shop").spec(preferred_affinity=(near(5, app="web"),))
    assert score(NAME, *NODES, *web("b"), new).raw == dict.fromkeys(NAMES, 0)


@pytest.mark.parametrize(
    ("matching", "infeasible"),
    [
        pytest.param((), (), id="nothing anywhere"),
        pytest.param(("a1",), ("b", "bare"), id="the same on all feasible nodes"),
        pytest.param(("a1",), ("a1", "a2", "b"), id="one feasible node"),
        pytest.param(("a1",), NAMES, id="no feasible node"),
    ],
)
def test_equal_scores_become_nothing(matching: tuple[str, ...], infeasible: tuple[str, ...]) -> None:
    new = make_pod("new").spec(preferred_affinity=(near(5, app="web"),))
    scores = score(NAME, *NODES, *web(*matching), new, infeasible=infeasible)
    assert scores.normalized == {name: 0 for name in NAMES if name not in infeasible}


def test_infeasible_nodes_set_no_limit() -> None:
    new = make_pod("new").spec(preferred_affinity=(near(5, app="web"),))
    pods = web("a1", "a1", "a1", "b")
    assert score(NAME, *NODES, *pods, new, infeasible=("a1", "a2")).normalized == {"b": 100, "bare": 0}
