"""Tests of PodTopologySpread's score: soft constraints, the cluster's default ones, and who takes part."""

from math import log
from typing import Any

import pytest

from longshore.core.words.labels import Selector, freeze
from longshore.core.words.pod import SpreadConstraint
from longshore.core.words.snapshot import Controller, Service
from policies.plugins.scoring import score
from support.builders import NodeBuilder, PodBuilder, make_node, make_pod

NAME = "PodTopologySpread"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WEB = Selector().extended({"app": "web"})


def node(name: str, zone: str | None = None) -> NodeBuilder:
    built = make_node(name).label(HOST, name)
    return built if zone is None else built.label(ZONE, zone)


NODES = (node("a1", "a"), node("a2", "a"), node("b", "b"))


def soft(key: str = ZONE, max_skew: int = 1, **more: Any) -> SpreadConstraint:
    return SpreadConstraint(max_skew, key, is_hard=False, selector=WEB, **more)


def new(*constraints: SpreadConstraint) -> PodBuilder:
    return make_pod("new").label("app", "web").spec(spread=constraints)


def web(*node_names: str, **spec: Any) -> list[PodBuilder]:
    return [make_pod(f"web-{i}").label("app", "web").spec(**spec).on(name) for i, name in enumerate(node_names)]


def test_fewer_pods_of_the_kind_score_higher() -> None:
    # Two domains weigh ln(4): twice that is 2.77, which is 3.
    scores = score(NAME, *NODES, *web("a1", "a2"), new(soft()))
    assert scores.raw == {"a1": 3, "a2": 3, "b": 0}
    assert scores.normalized == {"a1": 0, "a2": 0, "b": 100}


def test_scores_between_are_rounded_down() -> None:
    # 4 and 1 pods: 5.5 and 1.4, which are 6 and 1; 100 · (6 + 1 - 6) / 6 and 100 · (6 + 1 - 1) / 6.
    scores = score(NAME, *NODES, *web("a1", "a1", "a2", "a2", "b"), new(soft()))
    assert scores.raw == {"a1": 6, "a2": 6, "b": 1}
    assert scores.normalized == {"a1": 16, "a2": 16, "b": 100}


def test_the_skew_that_is_allowed_adds_to_every_node() -> None:
    assert score(NAME, *NODES, *web("a1"), new(soft(max_skew=4))).raw == {"a1": round(log(4) + 3), "a2": 4, "b": 3}


def test_hosts_count_their_own_pods_and_weigh_by_the_nodes_that_are_scored() -> None:
    # Three nodes weigh ln(5) = 1.61; two weigh ln(4) = 1.39: 3.2 and 2.8 would both be 3, so five pods are counted.
    pods = web(*["a1"] * 5)
    assert score(NAME, *NODES, *pods, new(soft(HOST))).raw == {"a1": round(5 * log(5)), "a2": 0, "b": 0}
    assert score(NAME, *NODES, *pods, new(soft(HOST)), infeasible=("b",)).raw == {"a1": round(5 * log(4)), "a2": 0}


def test_domains_without_a_feasible_node_do_not_add_to_the_weight() -> None:
    # One domain weighs ln(3): five pods are 5.49, which is 5; with two domains they would be 6.9.
    assert score(NAME, *NODES, *web(*["a1"] * 5), new(soft()), infeasible=("b",)).raw == {"a1": 5, "a2": 5}


def test_pods_on_infeasible_nodes_still_count_in_their_domain() -> None:
    assert score(NAME, *NODES, *web("a2", "a2"), new(soft()), infeasible=("a2",)).raw == {"a1": 3, "b": 0}


def test_constraints_add_up() -> None:
    # Host: ln(5) on a1. Zone: ln(4) on both of zone a.
    scores = score(NAME, *NODES, *web("a1"), new(soft(HOST), soft()))
    assert scores.raw == {"a1": round(log(5) + log(4)), "a2": round(log(4)), "b": 0}


def test_a_node_without_the_key_takes_no_part() -> None:
    scores = score(NAME, *NODES, make_node("bare"), *web("a1"), new(soft()))
    assert (scores.raw["bare"], scores.normalized["bare"]) == (0, 0)
    assert scores.normalized["b"] == 100


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("x").label("app", "web").namespace("shop").on("b"), id="in another namespace"),
        pytest.param(make_pod("x").label("app", "web").spec(is_terminating=True).on("b"), id="that is being deleted"),
        pytest.param(make_pod("x").label("app", "db").on("b"), id="that does not match"),
    ],
)
def test_pods_that_do_not_count(pod: PodBuilder) -> None:
    assert score(NAME, *NODES, pod, new(soft())).raw["b"] == 0


@pytest.mark.parametrize(
    ("matching", "infeasible", "want"),
    [
        pytest.param((), (), {"a1": 100, "a2": 100, "b": 100}, id="nothing anywhere: all full"),
        pytest.param(("a1", "b"), (), {"a1": 100, "a2": 100, "b": 100}, id="equally many everywhere: all full"),
        pytest.param(("a1",), ("a2", "b"), {"a1": 100}, id="one feasible node"),
        pytest.param(("a1",), ("a1", "a2", "b"), {}, id="no feasible node"),
    ],
)
def test_equal_scores_are_full(matching: tuple[str, ...], infeasible: tuple[str, ...], want: dict[str, int]) -> None:
    assert score(NAME, *NODES, *web(*matching), new(soft()), infeasible=infeasible).normalized == want


def test_hard_constraints_are_not_scored_and_switch_the_default_off() -> None:
    pod = new(SpreadConstraint(1, ZONE, is_hard=True, selector=WEB))
    services = (Service("default", "web", freeze({"app": "web"})),)
    # The service gives another pod a constraint, so that the table has columns.
    assert score(NAME, *NODES, *web("a1"), pod, services=services) == ({"a1": 0, "a2": 0, "b": 0},) * 2


SERVICE = Service("default", "web", freeze({"app": "web"}))


def default_raw(num_host: int, num_zone: int, *, hosts: int = 3, zones: int = 2) -> int:
    return round(num_host * log(hosts + 2) + 2 + num_zone * log(zones + 2) + 4)


def test_pods_behind_a_service_are_spread_over_hosts_and_zones_by_default() -> None:
    scores = score(NAME, *NODES, *web("a1", "a1", "b"), new(), services=(SERVICE,))
    assert scores.raw == {"a1": default_raw(2, 2), "a2": default_raw(0, 2), "b": default_raw(1, 1)}


def test_pods_of_one_controller_are_spread_by_default() -> None:
    controllers = (Controller("apps/v1", "ReplicaSet", "default", "web", WEB),)
    owned = new().owner("ReplicaSet", "web")
    assert score(NAME, *NODES, *web("a1"), owned, controllers=controllers).raw["a1"] == default_raw(1, 1)
    assert score(NAME, *NODES, *web("a1"), new(), controllers=controllers).raw["a1"] == 0


def test_a_pod_with_constraints_of_its_own_is_not_spread_by_default() -> None:
    assert score(NAME, *NODES, *web("a1"), new(soft()), services=(SERVICE,)).raw["b"] == 0


def test_the_default_lets_nodes_without_a_zone_take_part() -> None:
    scores = score(NAME, *NODES, node("bare"), *web("a1"), new(), services=(SERVICE,))
    # Its host counts; a missing zone is a domain of its own when domains are counted, and adds nothing.
    assert scores.raw["bare"] == 2
    assert scores.raw["a1"] == default_raw(1, 1, hosts=4, zones=3)
    assert scores.normalized["bare"] == 100


def test_a_pod_that_nothing_binds_to_others_scores_nothing() -> None:
    nothing = {"a1": 0, "a2": 0, "b": 0}
    assert score(NAME, *NODES, *web("a1"), make_pod("new")) == (nothing, nothing)
