"""Constraints between pods: who is counted by which query."""

from typing import NamedTuple

import pytest

from longshore.core.arrays.queries import DEFAULT_SPREAD, Queries, ResolvedTerm, gpu_kind, weighted_terms
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.objects import Objects
from longshore.core.words.pod import AffinityTerm, HostPort, PodSpec, SpreadConstraint, WeightedAffinityTerm
from longshore.core.words.snapshot import Controller, Namespace, Service, Snapshot
from support.builders import PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode

WEB = Selector((Requirement("app", "In", ("web",)),))


def spec_of(pod: PodBuilder) -> PodSpec:
    return pod.build().spec


def queries_over(*specs: PodSpec, **fields: object) -> Queries:
    queries = Queries(Objects.of(Snapshot(**fields)))
    for spec in specs:
        queries.add(spec)
    return queries


def row(queries: Queries, query: int) -> list[int]:
    """Return what one pod of each class adds to a query."""
    return [queries.amounts[query].get(index, 0) for index in range(len(queries.specs))]


def web(namespace: str = "default", **changes: object) -> PodSpec:
    return spec_of(make_pod("a").namespace(namespace).label("app", "web").spec(**changes))


def test_row_zero_counts_nothing() -> None:
    assert row(queries_over(web(), web("other")), 0) == [0, 0]


def test_spread_counts_matching_pods_of_the_namespace() -> None:
    queries = queries_over(web(), spec_of(make_pod("a").label("app", "db")), web("other"))
    assert row(queries, queries.spread("default", WEB)) == [1, 0, 0]


def test_spread_does_not_count_pods_that_are_being_deleted() -> None:
    queries = queries_over(web(), web(is_terminating=True))
    assert row(queries, queries.spread("default", WEB)) == [1, 0]


@pytest.mark.parametrize("selector", [None, Selector()], ids=["no selector", "empty selector"])
def test_spread_counts_nobody_without_requirements(selector: Selector | None) -> None:
    queries = queries_over(web())
    assert row(queries, queries.spread("default", selector)) == [0]


def test_affinity_counts_pods_that_are_being_deleted() -> None:
    queries = queries_over(web(), web(is_terminating=True))
    assert row(queries, queries.term(queries.specs[0], AffinityTerm("zone", WEB))) == [1, 1]


def test_equal_questions_share_a_row() -> None:
    queries = queries_over(web(), web("other"))
    one, other = (queries.term(queries.specs[0], AffinityTerm(key, WEB)) for key in ("zone", "host"))
    assert one == other, "the topology key is no part of the question"
    assert queries.term(queries.specs[1], AffinityTerm("zone", WEB)) != one, "the pod's namespace is"
    assert len(queries.amounts) == 3


def test_all_terms_counts_pods_that_match_every_term() -> None:
    fast = Selector((Requirement("speed", "Exists"),))
    wants = PodSpec(affinity=(AffinityTerm("zone", WEB), AffinityTerm("host", fast)))
    both = spec_of(make_pod("a").label("app", "web").label("speed"))
    queries = queries_over(wants, web(), both)
    assert row(queries, queries.all_terms(wants)) == [0, 0, 1]


def test_term_without_a_selector_counts_nobody() -> None:
    queries = queries_over(web())
    assert row(queries, queries.term(queries.specs[0], AffinityTerm("zone", None))) == [0]


def test_term_with_an_empty_selector_counts_everybody_of_the_namespace() -> None:
    queries = queries_over(web(), PodSpec(), web("other"))
    assert row(queries, queries.term(queries.specs[0], AffinityTerm("zone", Selector()))) == [1, 1, 0]


# The pods ask from, and stand in, these namespaces; `ghost` is not in the snapshot.
NAMESPACES = (Namespace("default"), Namespace("prod", (("env", "prod"),)), Namespace("test", (("env", "test"),)))
IS_PROD = Selector((Requirement("env", "In", ("prod",)),))
NOT_PROD = Selector((Requirement("env", "NotIn", ("prod",)),))
NO_ENV = Selector((Requirement("env", "DoesNotExist"),))


class NamespaceCase(NamedTuple):
    """A term of a pod of `default`, and which namespaces it takes in."""

    namespaces: tuple[str, ...]
    selector: Selector | None
    want_incoming: set[str]
    """When the pod with the term is being placed."""
    want_existing: set[str]
    """When it is already there and the other one is being placed."""


EVERYWHERE = {"default", "prod", "test", "ghost"}
NAMESPACE_RULES = {
    "neither: the pod's own": NamespaceCase((), None, {"default"}, {"default"}),
    "a list": NamespaceCase(("test", "ghost"), None, {"test", "ghost"}, {"test", "ghost"}),
    "a list without its own": NamespaceCase(("prod",), None, {"prod"}, {"prod"}),
    "a selector": NamespaceCase((), IS_PROD, {"prod"}, {"prod"}),
    "a selector does not take in its own": NamespaceCase((), Selector((Requirement("x", "Exists"),)), set(), set()),
    "a list and a selector add up": NamespaceCase(("default",), IS_PROD, {"default", "prod"}, {"default", "prod"}),
    "the empty selector takes in all": NamespaceCase((), Selector(), EVERYWHERE, EVERYWHERE),
    # Upstream's quirk: the incoming pod's selector is asked a second time, without labels, and says yes to everyone.
    "NotIn": NamespaceCase((), NOT_PROD, EVERYWHERE, {"default", "test", "ghost"}),
    "DoesNotExist": NamespaceCase((), NO_ENV, EVERYWHERE, {"default", "ghost"}),
}


@pytest.mark.parametrize("case", NAMESPACE_RULES.values(), ids=NAMESPACE_RULES)
def test_namespace_rules_for_the_incoming_pod(case: NamespaceCase) -> None:
    specs = [web(name) for name in sorted(EVERYWHERE)]
    queries = queries_over(*specs, namespaces=NAMESPACES)
    found = row(queries, queries.term(web(), AffinityTerm("zone", WEB, case.namespaces, case.selector)))
    assert {spec.namespace for spec, counts in zip(specs, found, strict=True) if counts} == case.want_incoming


@pytest.mark.parametrize("case", NAMESPACE_RULES.values(), ids=NAMESPACE_RULES)
def test_namespace_rules_for_existing_pods(case: NamespaceCase) -> None:
    queries = queries_over(namespaces=NAMESPACES)
    term = queries.resolve(web(), AffinityTerm("zone", WEB, case.namespaces, case.selector))
    got = {name for name in EVERYWHERE if queries.existing_matches(term, web(name), {"app": "web"})}
    assert got == case.want_existing


def test_existing_term_matches_labels_too() -> None:
    queries = queries_over()
    term = queries.resolve(web(), AffinityTerm("zone", WEB))
    assert not queries.existing_matches(term, web(), {"app": "db"})


def test_carriers_count_how_often_a_pod_has_the_term() -> None:
    term = AffinityTerm("zone", WEB)
    once, twice = PodSpec(anti_affinity=(term,)), PodSpec(anti_affinity=(term, term), labels=(("x", "y"),))
    queries = queries_over(PodSpec(), once, twice, PodSpec(affinity=(term,)))
    assert row(queries, queries.carriers(queries.resolve(once, term))) == [0, 1, 2, 0]


def test_weight_adds_wishes_with_their_signs() -> None:
    term, other = AffinityTerm("zone", WEB), AffinityTerm("host", WEB)
    loves = PodSpec(preferred_affinity=(WeightedAffinityTerm(30, term), WeightedAffinityTerm(5, other)))
    hates = PodSpec(preferred_anti_affinity=(WeightedAffinityTerm(70, term),))
    needs = PodSpec(affinity=(term,))
    queries = queries_over(PodSpec(), loves, hates, needs)
    assert row(queries, queries.weight(queries.resolve(loves, term))) == [0, 30, -70, 1]


def test_weighted_terms_leave_required_anti_affinity_out() -> None:
    assert list(weighted_terms(PodSpec(anti_affinity=(AffinityTerm("zone", WEB),)))) == []


def test_gpu_kind_is_a_share_or_the_number_of_devices() -> None:
    pod = make_pod("a")
    kinds = [gpu_kind(spec_of(one)) for one in (pod, pod.gpu(1, 300), pod.gpu(1, 700), pod.gpu(1), pod.gpu(4))]
    assert kinds == [None, "share", "share", "1", "4"]


def test_gpu_queries_count_pods_of_the_kind_and_of_any_kind() -> None:
    queries = queries_over(*(spec_of(pod) for pod in (make_pod("a"), make_pod("a").gpu(1, 300), make_pod("a").gpu(2))))
    assert row(queries, queries.gpu_kind(queries.specs[1])) == [0, 1, 0]
    assert row(queries, queries.gpu_any()) == [0, 1, 1]
    assert queries.gpu_kind(queries.specs[0]) == 0


def test_gpu_any_is_the_empty_row_without_gpus() -> None:
    assert queries_over(PodSpec()).gpu_any() == 0


PORTS = {
    "the same port": (HostPort(80), 1),
    "another port": (HostPort(81), 0),
    "another protocol": (HostPort(80, "UDP"), 0),
    "any address against one": (HostPort(80, ip="10.0.0.1"), 1),
}


@pytest.mark.parametrize(("wanted", "want_conflicts"), PORTS.values(), ids=PORTS)
def test_ports_of_bound_pods_are_counted_where_they_conflict(wanted: HostPort, want_conflicts: int) -> None:
    holder = make_pod("holder").host_port(80).on("n")
    wants = make_pod("wants").image("other")
    wants = PodBuilder(wants.pod, wants.container._replace(ports=(wanted,)))
    encoded = encode(make_snapshot(make_node("n"), holder, wants))
    pod_class = encoded.class_of(wants.build())
    arrays = encoded.arrays
    assert int(arrays.state.counts[arrays.classes.ports[pod_class], 0].sum()) == want_conflicts


# Default spreading: what binds a pod to its like.
FRONT = spec_of(make_pod("a").label("app", "web").label("tier", "front"))


def service(*pairs: tuple[str, str], namespace: str = "default", name: str = "s") -> Service:
    return Service(namespace, name, pairs)


def owned(kind: str, api_version: str = "apps/v1") -> PodSpec:
    return spec_of(make_pod("a").label("app", "web").label("tier", "front").owner(kind, "owner", api_version))


def equal(**pairs: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, "In", (value,)) for key, value in pairs.items())


REPLICA_SET = Controller("apps/v1", "ReplicaSet", "default", "owner", Selector((Requirement("app", "Exists"),)))
STATEFUL_SET = REPLICA_SET._replace(kind="StatefulSet")
REPLICATION = Controller("v1", "ReplicationController", "default", "owner", Selector(equal(app="rc")))


class DefaultCase(NamedTuple):
    """A pod among services and controllers, and the requirements that its default spread has."""

    spec: PodSpec
    services: tuple[Service, ...]
    controllers: tuple[Controller, ...]
    want: tuple[Requirement, ...]


DEFAULTS = {
    "nothing binds it": DefaultCase(FRONT, (), (), ()),
    "its service": DefaultCase(FRONT, (service(("app", "web")),), (), equal(app="web")),
    "its services together": DefaultCase(
        FRONT, (service(("app", "web")), service(("tier", "front"), name="t")), (), equal(app="web", tier="front")
    ),
    "a service that selects others": DefaultCase(FRONT, (service(("app", "db")),), (), ()),
    "a service of another namespace": DefaultCase(FRONT, (service(("app", "web"), namespace="x"),), (), ()),
    "a service without a selector": DefaultCase(FRONT, (Service("default", "s", None),), (), ()),
    "a service with an empty selector": DefaultCase(FRONT, (service(),), (), ()),
    "its ReplicaSet is added": DefaultCase(
        owned("ReplicaSet"),
        (service(("app", "web")),),
        (REPLICA_SET,),
        (*equal(app="web"), Requirement("app", "Exists")),
    ),
    "its StatefulSet is added": DefaultCase(owned("StatefulSet"), (), (STATEFUL_SET,), (Requirement("app", "Exists"),)),
    "its ReplicationController is merged over": DefaultCase(
        owned("ReplicationController", "v1"),
        (service(("app", "web"), ("tier", "front")),),
        (REPLICATION,),
        equal(app="rc", tier="front"),
    ),
    "a controller of another kind": DefaultCase(owned("StatefulSet"), (), (REPLICA_SET,), ()),
    "a controller of another version": DefaultCase(owned("ReplicaSet", "apps/v1beta1"), (), (REPLICA_SET,), ()),
    "a controller of another namespace": DefaultCase(
        owned("ReplicaSet"), (), (REPLICA_SET._replace(namespace="x"),), ()
    ),
    "a controller that is not there": DefaultCase(owned("ReplicaSet"), (), (), ()),
    "a controller without a selector": DefaultCase(owned("ReplicaSet"), (), (REPLICA_SET._replace(selector=None),), ()),
    "a pod without an owner": DefaultCase(FRONT, (), (REPLICA_SET,), ()),
}


@pytest.mark.parametrize("case", DEFAULTS.values(), ids=DEFAULTS)
def test_default_spread_selects_the_pod_like(case: DefaultCase) -> None:
    queries = queries_over(case.spec, services=case.services, controllers=case.controllers)
    constraints, is_default = queries.spread_constraints(case.spec)
    assert is_default
    want_pairs = DEFAULT_SPREAD if case.want else ()
    assert [(c.topology_key, c.max_skew) for c in constraints] == list(want_pairs)
    assert all(c.selector == Selector(case.want) and not c.is_hard for c in constraints)


def test_own_spread_constraints_replace_the_default_ones() -> None:
    soft, hard = (SpreadConstraint(1, "zone", is_hard, WEB) for is_hard in (False, True))
    queries = queries_over(services=(service(("app", "web")),))
    assert queries.spread_constraints(web(spread=(soft, hard))) == ((soft,), False)
    assert queries.spread_constraints(web(spread=(hard,))) == ((), False)


def test_resolve_keeps_the_term_and_names_the_namespaces() -> None:
    queries = queries_over()
    resolved = queries.resolve(web("prod"), AffinityTerm("zone", WEB))
    assert resolved == ResolvedTerm("zone", WEB, frozenset({"prod"}), None)
