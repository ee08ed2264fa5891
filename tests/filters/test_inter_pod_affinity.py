"""Tests of InterPodAffinity: being with others, being away from them, and others that want to be away."""

import pytest

from filters.judging import judge, reasons, refused
from longshore.core.words.labels import Selector
from longshore.core.words.pod import AffinityTerm
from longshore.core.words.snapshot import Namespace
from longshore.filters.base import Rejection
from support.builders import PodBuilder, make_node, make_pod

NAME = "InterPodAffinity"
AFFINITY = ("node(s) didn't match pod affinity rules",)
ANTI = ("node(s) didn't match pod anti-affinity rules",)
REPELLED = ("node(s) didn't satisfy existing pods anti-affinity rules",)
NODES = (
    make_node("a1").label("zone", "a").label("rack", "1"),
    make_node("a2").label("zone", "a").label("rack", "2"),
    make_node("b").label("zone", "b").label("rack", "3"),
    make_node("bare"),
)
ALL = {"a1", "a2", "b", "bare"}
NAMESPACES = (Namespace("default"), Namespace("shop", (("team", "x"),)), Namespace("bank", (("team", "y"),)))


def like(
    key: str = "zone", *, namespaces: tuple[str, ...] = (), team: str | None = None, **labels: str
) -> AffinityTerm:
    """Be with, or away from, pods with these labels."""
    namespace_selector = None if team is None else Selector().extended({"team": team} if team else {})
    return AffinityTerm(key, Selector().extended(labels), namespaces, namespace_selector)


def new_with(*terms: AffinityTerm) -> PodBuilder:
    return make_pod("new").spec(affinity=terms)


def new_away_from(*terms: AffinityTerm) -> PodBuilder:
    return make_pod("new").spec(anti_affinity=terms)


WEB = make_pod("web").label("app", "web")


def test_affinity_allows_the_domain_that_holds_a_match() -> None:
    want = Rejection(NAME, AFFINITY, is_resolvable=False)
    assert judge(NAME, *NODES, WEB.on("a1"), new_with(like(app="web"))) == {"b": want, "bare": want}


def test_affinity_is_per_value_of_its_own_key() -> None:
    assert refused(NAME, *NODES, WEB.on("a1"), new_with(like("rack", app="web"))) == ALL - {"a1"}


def test_a_match_on_a_node_without_the_key_counts_for_nothing() -> None:
    assert refused(NAME, *NODES, WEB.on("bare"), new_with(like(app="web"))) == ALL


def test_affinity_without_a_match_allows_nothing() -> None:
    assert refused(NAME, *NODES, new_with(like(app="web"))) == ALL


def test_every_term_must_find_company() -> None:
    pod = new_with(like(app="web"), like("rack", app="web"))
    assert refused(NAME, *NODES, WEB.on("a1"), pod) == ALL - {"a1"}


def test_all_terms_must_match_one_and_the_same_pod() -> None:
    pod = new_with(like(app="web"), like(tier="front"))
    front = make_pod("front").label("tier", "front")
    assert refused(NAME, *NODES, WEB.on("a1"), front.on("a2"), pod) == ALL
    assert refused(NAME, *NODES, WEB.label("tier", "front").on("a1"), pod) == {"b", "bare"}


def test_the_first_pod_of_a_series_may_go_wherever_the_key_exists() -> None:
    pod = new_with(like(app="web")).label("app", "web")
    assert reasons(NAME, *NODES, pod) == {"bare": AFFINITY}


def test_the_second_pod_of_a_series_must_join_the_first() -> None:
    pod = new_with(like(app="web")).label("app", "web")
    assert refused(NAME, *NODES, WEB.on("b"), pod) == {"a1", "a2", "bare"}


def test_a_pod_that_matches_only_one_of_its_terms_starts_no_series() -> None:
    pod = new_with(like(app="web"), like(tier="front")).label("app", "web")
    assert refused(NAME, *NODES, pod) == ALL


def test_a_series_is_also_started_beside_a_match_that_no_domain_counts() -> None:
    pod = new_with(like(app="web")).label("app", "web")
    assert refused(NAME, *NODES, WEB.on("bare"), pod) == {"bare"}


def test_anti_affinity_keeps_the_domain_of_a_match_free() -> None:
    want = Rejection(NAME, ANTI, is_resolvable=True)
    assert judge(NAME, *NODES, WEB.on("a1"), new_away_from(like(app="web"))) == {"a1": want, "a2": want}


def test_anti_affinity_does_not_reach_nodes_without_the_key() -> None:
    assert refused(NAME, *NODES, WEB.on("bare"), new_away_from(like(app="web"))) == set()


def test_one_anti_affinity_term_of_several_is_enough() -> None:
    pod = new_away_from(like(app="db"), like("rack", app="web"))
    assert refused(NAME, *NODES, WEB.on("a1"), pod) == {"a1"}


def test_existing_pods_keep_their_domain_free_of_what_they_avoid() -> None:
    want = Rejection(NAME, REPELLED, is_resolvable=True)
    loner = make_pod("loner").spec(anti_affinity=(like(app="web"),)).on("a1")
    assert judge(NAME, *NODES, loner, make_pod("new").label("app", "web")) == {"a1": want, "a2": want}
    assert refused(NAME, *NODES, loner, make_pod("new").label("app", "db")) == set()


def test_a_pod_that_waits_keeps_nobody_away() -> None:
    loner = make_pod("loner").spec(anti_affinity=(like(app="web"),))
    assert refused(NAME, *NODES, loner, make_pod("new").label("app", "web")) == set()


SCOPES = [
    pytest.param(like(app="web"), "default", True, id="the own namespace where none is named"),
    pytest.param(like(app="web"), "shop", False, id="no other namespace where none is named"),
    pytest.param(like(app="web", namespaces=("shop",)), "shop", True, id="a namespace that is listed"),
    pytest.param(like(app="web", namespaces=("shop",)), "default", False, id="not the own one where others are listed"),
    pytest.param(like(app="web", team="x"), "shop", True, id="a namespace that is selected"),
    pytest.param(like(app="web", team="x"), "bank", False, id="a namespace with other labels"),
    pytest.param(like(app="web", team=""), "bank", True, id="an empty selector takes in all"),
    pytest.param(like(app="web", namespaces=("bank",), team="x"), "bank", True, id="listed or selected"),
]


@pytest.mark.parametrize(("term", "namespace", "is_meant"), SCOPES)
def test_namespaces_of_the_pods_own_terms(term: AffinityTerm, namespace: str, is_meant: bool) -> None:
    parts = (*NODES, WEB.namespace(namespace).on("b"))
    assert ("b" in refused(NAME, *parts, new_away_from(term), namespaces=NAMESPACES)) == is_meant
    assert ("b" not in refused(NAME, *parts, new_with(term), namespaces=NAMESPACES)) == is_meant


@pytest.mark.parametrize(("term", "namespace", "is_meant"), SCOPES)
def test_namespaces_of_existing_pods_terms(term: AffinityTerm, namespace: str, is_meant: bool) -> None:
    loner = make_pod("loner").spec(anti_affinity=(term,)).on("b")
    new = make_pod("new").label("app", "web").namespace(namespace)
    assert ("b" in refused(NAME, *NODES, loner, new, namespaces=NAMESPACES)) == is_meant


def test_a_term_without_a_selector_means_nobody() -> None:
    nobody = AffinityTerm("zone", None)
    assert refused(NAME, *NODES, WEB.on("a1"), new_away_from(nobody)) == set()
    assert refused(NAME, *NODES, WEB.on("a1"), new_with(nobody)) == ALL


def test_an_empty_selector_means_everybody() -> None:
    assert refused(NAME, *NODES, WEB.on("a1"), new_away_from(AffinityTerm("zone", Selector()))) == {"a1", "a2"}


@pytest.mark.parametrize(
    ("own", "want"),
    [
        pytest.param(
            {"affinity": (like(app="db"),), "anti_affinity": (like(app="web"),)}, AFFINITY, id="affinity first"
        ),
        pytest.param({"anti_affinity": (like(app="web"),)}, ANTI, id="then its own anti-affinity"),
        pytest.param({}, REPELLED, id="then that of existing pods"),
    ],
)
def test_the_first_broken_kind_is_named(own: dict[str, object], want: tuple[str, ...]) -> None:
    loner = make_pod("loner").label("app", "web").spec(anti_affinity=(like(kind="new"),)).on("a1")
    new = make_pod("new").label("kind", "new").spec(**own)
    assert reasons(NAME, *NODES, loner, new)["a1"] == want
