"""Tests of PodTopologySpread: skew, domains that count, policies, and what a constraint matches."""

from typing import Any

import pytest

from filters.judging import judge, reasons, refused
from longshore.core.words.labels import Selector
from longshore.core.words.pod import SpreadConstraint
from longshore.filters.base import Rejection
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod

NAME = "PodTopologySpread"
SKEW = ("node(s) didn't match pod topology spread constraints",)
NO_KEY = ("node(s) didn't match pod topology spread constraints (missing required label)",)
WEB = Selector().extended({"app": "web"})
NODES = (
    make_node("a").label("zone", "1").label("host", "a").label("disk", "ssd"),
    make_node("b").label("zone", "1").label("host", "b").label("disk", "ssd"),
    make_node("c").label("zone", "2").label("host", "c"),
)
BARE = make_node("bare")


def new(*constraints: SpreadConstraint, app: str = "web") -> PodBuilder:
    return make_pod("new").label("app", app).spec(spread=constraints or (by_zone(),))


def by_zone(
    max_skew: int = 1, *, is_hard: bool = True, selector: Selector | None = WEB, **more: Any
) -> SpreadConstraint:
    return SpreadConstraint(max_skew, "zone", is_hard, selector, **more)


def web(*node_names: str) -> list[PodBuilder]:
    return [make_pod(f"web-{i}").label("app", "web").on(name) for i, name in enumerate(node_names)]


def test_a_domain_may_not_get_ahead_by_more_than_the_skew() -> None:
    want = Rejection(NAME, SKEW, is_resolvable=True)
    assert judge(NAME, *NODES, *web("a"), new()) == {"a": want, "b": want}


def test_a_node_without_the_key_is_refused_for_good() -> None:
    assert judge(NAME, *NODES, BARE, new())["bare"] == Rejection(NAME, NO_KEY, is_resolvable=False)


@pytest.mark.parametrize(
    ("max_skew", "matching", "want"),
    [
        pytest.param(1, ("a", "c"), set(), id="level domains take one more each"),
        pytest.param(2, ("a",), set(), id="a skew of two allows one more"),
        pytest.param(2, ("a", "b"), {"a", "b"}, id="and then no more"),
        pytest.param(1, ("a", "c", "c"), {"c"}, id="the fuller domain waits"),
        pytest.param(1, ("a", "b", "a", "c"), {"a", "b"}, id="domains are summed over their nodes"),
    ],
)
def test_skew_is_counted_over_domains(max_skew: int, matching: tuple[str, ...], want: set[str]) -> None:
    assert refused(NAME, *NODES, *web(*matching), new(by_zone(max_skew))) == want


def test_a_pod_that_does_not_match_itself_adds_nothing() -> None:
    assert refused(NAME, *NODES, *web("a"), new(app="other")) == set()
    assert refused(NAME, *NODES, *web("a", "a"), new(app="other")) == {"a", "b"}


def test_a_pod_matches_itself_by_its_selector_only() -> None:
    assert refused(NAME, *NODES, *web("a"), new(by_zone(selector=None))) == set()


def test_an_empty_selector_counts_no_pod() -> None:
    # Nobody is counted, but the pod matches itself: 0 + 1 - 0 keeps a skew of one everywhere.
    assert refused(NAME, *NODES, *web("a", "a", "a"), new(by_zone(selector=Selector()))) == set()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_pod("x").label("app", "web").namespace("shop").on("a"), id="in another namespace"),
        pytest.param(make_pod("x").label("app", "web").spec(is_terminating=True).on("a"), id="that is being deleted"),
        pytest.param(make_pod("x").label("app", "db").on("a"), id="that does not match"),
        pytest.param(make_pod("x").label("app", "web"), id="that waits"),
    ],
)
def test_pods_that_do_not_count(other: PodBuilder) -> None:
    assert refused(NAME, *NODES, other, new()) == set()


@pytest.mark.parametrize(
    ("min_domains", "want"),
    [
        pytest.param(1, set(), id="one is enough"),
        pytest.param(2, set(), id="as many as there are"),
        pytest.param(3, {"a", "b", "c"}, id="more than there are: the fewest counts as none"),
    ],
)
def test_too_few_domains_count_as_an_empty_one(min_domains: int, want: set[str]) -> None:
    assert refused(NAME, *NODES, *web("a", "c"), new(by_zone(min_domains=min_domains))) == want


@pytest.mark.parametrize(
    ("honors_affinity", "want"),
    [
        pytest.param(True, set(), id="honor: zone 2 is no domain for the pod"),
        pytest.param(False, {"a", "b"}, id="ignore: zone 2 is the emptiest domain"),
    ],
)
def test_the_affinity_policy_says_which_domains_there_are(honors_affinity: bool, want: set[str]) -> None:
    pod = new(by_zone(honors_affinity=honors_affinity)).node_selector("disk", "ssd")
    assert refused(NAME, *NODES, *web("a"), pod) == want


@pytest.mark.parametrize(
    ("honors_taints", "want"),
    [
        pytest.param(True, set(), id="honor: the tainted zone is no domain"),
        pytest.param(False, {"a", "b"}, id="ignore: the tainted zone is the emptiest domain"),
    ],
)
def test_the_taint_policy_says_which_domains_there_are(honors_taints: bool, want: set[str]) -> None:
    nodes = (*NODES[:2], NODES[2].taint("dedicated", "ml"))
    assert refused(NAME, *nodes, *web("a"), new(by_zone(honors_taints=honors_taints))) == want


def test_a_tolerated_taint_makes_no_difference() -> None:
    nodes = (*NODES[:2], NODES[2].taint("dedicated", "ml"))
    pod = new(by_zone(honors_taints=True)).toleration("dedicated")
    assert refused(NAME, *nodes, *web("a"), pod) == {"a", "b"}


def test_every_constraint_must_hold() -> None:
    by_host = SpreadConstraint(1, "host", is_hard=True, selector=WEB)
    # By zone 2:1, by host 1:1:1; then a second pod on host c: by zone 2:2, by host 1:1:2.
    assert refused(NAME, *NODES, *web("a", "b", "c"), new(by_zone(), by_host)) == {"a", "b"}
    assert refused(NAME, *NODES, *web("a", "b", "c", "c"), new(by_zone(), by_host)) == {"c"}


def with_rack(rack: str) -> NodeBuilder:
    return make_node(f"rack-{rack}").label("rack", rack)


def test_a_node_must_have_every_key_to_count_in_any_domain() -> None:
    by_rack = SpreadConstraint(5, "rack", is_hard=True, selector=WEB)
    nodes = [node.label("rack", "1") if node.node.name != "c" else node for node in NODES]
    # Zone 2's only node lacks a rack, so that zone 1 is the only domain and cannot be ahead of any other.
    assert reasons(NAME, *nodes, *web("a"), new(by_zone(), by_rack)) == {"c": NO_KEY}


def test_the_first_broken_constraint_words_the_reason() -> None:
    by_rack = SpreadConstraint(1, "rack", is_hard=True, selector=WEB)
    nodes = (*NODES, with_rack("1"))
    assert reasons(NAME, *nodes, new(by_zone(), by_rack)) == dict.fromkeys(("a", "b", "c", "rack-1"), NO_KEY)


def test_soft_constraints_keep_nobody_away() -> None:
    assert refused(NAME, *NODES, BARE, *web("a", "a", "a"), new(by_zone(is_hard=False))) == set()


def test_a_pod_without_constraints_may_go_anywhere() -> None:
    assert refused(NAME, *NODES, BARE, *web("a"), make_pod("new")) == set()


def test_where_no_node_has_the_key_none_is_left() -> None:
    assert reasons(NAME, BARE, new()) == {"bare": NO_KEY}
