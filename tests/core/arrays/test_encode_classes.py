"""Classes of pods as arrays: which query, key and weight every term reads."""

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clusters import rich_snapshot
from longshore.core.arrays.encode import Encoded
from longshore.core.arrays.queries import HOSTNAME_KEY
from longshore.core.words.labels import Requirement, Selector, selector_matches
from longshore.core.words.pod import AffinityTerm, HostPort, Pod, PodSpec, SpreadConstraint, WeightedAffinityTerm
from longshore.core.words.snapshot import Service, Snapshot
from support.builders import PodBuilder, make_node, make_pod, make_snapshot
from support.compiling import encode

WEB, DB = (Selector((Requirement("app", "In", (name,)),)) for name in ("web", "db"))
WEB_POD, DB_POD = (make_pod(name).label("app", name) for name in ("web", "db"))
rich = st.integers(0, 2**32 - 1).map(rich_snapshot)


def encoded(*pods: PodBuilder, **fields: object) -> Encoded:
    zones = [make_node(name).label("zone", name).label("rack", "r") for name in ("a", "b")]
    return encode(make_snapshot(*zones, *pods, **fields))


def test_tables_are_empty_where_no_class_has_a_term() -> None:
    classes = encoded(make_pod("p"), make_pod("q").cpu(1)).arrays.classes
    tables = (classes.ports, classes.affinity.query, classes.anti_affinity.query, classes.repelled_by.query)
    for table in (*tables, classes.preferred.query, classes.hard_spread.query, classes.soft_spread.query):
        assert table.shape == (2, 0)


def test_requests_stand_in_the_order_of_the_resource_names() -> None:
    result = encoded(make_pod("p").cpu(250).memory(64).resource("z/z", 2), make_pod("q").resource("a/a", 1))
    assert result.resource_names == ("cpu", "memory", "ephemeral-storage", "a/a", "z/z")
    assert result.arrays.classes.request.tolist() == [[250, 64, 0, 0, 2], [0, 0, 0, 1, 0]]
    assert result.arrays.classes.nonzero_request.tolist() == [[250, 64], [100, 200 * 2**20]]


def test_required_affinity_terms_share_one_query_and_keep_their_keys() -> None:
    fast = Selector((Requirement("fast", "Exists"),))
    wants = WEB_POD.spec(affinity=(AffinityTerm("zone", WEB), AffinityTerm("rack", fast)))
    classes = encoded(wants, DB_POD).arrays.classes
    assert classes.affinity.query[0, 0] == classes.affinity.query[0, 1] != 0
    assert classes.affinity.key[0, 0] != classes.affinity.key[0, 1]
    assert classes.affinity.query[1].tolist() == [0, 0]


def test_affinity_self_is_for_classes_that_match_all_of_their_terms() -> None:
    own = WEB_POD.spec(affinity=(AffinityTerm("zone", WEB),))
    other = WEB_POD.spec(affinity=(AffinityTerm("zone", WEB), AffinityTerm("zone", DB)))
    assert encoded(own, other, DB_POD).arrays.classes.affinity_self.tolist() == [True, False, False]


def test_classes_are_repelled_by_the_anti_affinity_that_matches_them() -> None:
    loner = DB_POD.spec(anti_affinity=(AffinityTerm("zone", WEB),))
    arrays = encoded(WEB_POD, loner.on("b"), DB_POD).arrays
    classes = arrays.classes
    assert (classes.repelled_by.query > 0).tolist() == [[True], [False], [False]]
    assert arrays.state.counts[classes.repelled_by.query[0, 0]].tolist() == [0, 1]
    assert (classes.anti_affinity.query > 0).tolist() == [[False], [True], [False]]


def test_preferences_are_own_wishes_with_signs_then_those_of_others() -> None:
    loves = WeightedAffinityTerm(30, AffinityTerm("zone", DB))
    hates = WeightedAffinityTerm(70, AffinityTerm("rack", WEB))
    wishful = WEB_POD.spec(preferred_affinity=(loves,), preferred_anti_affinity=(hates,))
    arrays = encoded(wishful.on("a"), DB_POD).arrays
    # The first class also matches its own wish against web pods; the second one is what it wants to be with.
    assert arrays.classes.preferred_weight.tolist() == [[30, -70, 1], [1, 0, 0]]
    of_others = arrays.classes.preferred.query[[0, 1], [2, 0]]
    assert arrays.state.counts[of_others].tolist() == [[-70, 0], [30, 0]]


def test_spread_constraints_are_parted_into_hard_and_soft() -> None:
    hard = SpreadConstraint(2, HOSTNAME_KEY, True, WEB, 3, False, True)
    soft = SpreadConstraint(1, "zone", False, DB)
    classes = encoded(WEB_POD.spec(spread=(soft, hard))).arrays.classes
    spreads = (classes.hard_spread, classes.soft_spread)
    got = [
        tuple(column.item() for column in (one.max_skew, one.min_domains, one.self_match, one.is_hostname))
        for one in spreads
    ]
    assert got == [(2, 3, 1, True), (1, 1, 0, False)]
    assert not classes.soft_is_default[0]


def test_spread_constraints_point_at_the_nodes_that_count() -> None:
    hard = SpreadConstraint(2, HOSTNAME_KEY, True, WEB, 3, False, True)
    soft = SpreadConstraint(1, "zone", False, DB)
    nodes = (make_node("a").taint("dirty"), make_node("b").label("disk", "ssd"))
    arrays = encode(make_snapshot(*nodes, WEB_POD.node_selector("disk", "ssd").spec(spread=(soft, hard)))).arrays
    of_affinity, of_taints = (
        [
            arrays.tables.masks[getattr(one, name)[0, 0]].tolist()
            for one in (arrays.classes.hard_spread, arrays.classes.soft_spread)
        ]
        for name in ("affinity_mask", "taint_mask")
    )
    assert of_affinity == [[True, True], [False, True]]  # the hard one does not ask for the selector's nodes
    assert of_taints == [[False, True], [True, True]]  # the soft one does not mind taints


def test_spread_self_match_holds_for_the_empty_selector_and_not_without_one() -> None:
    constraints = tuple(SpreadConstraint(1, "zone", True, selector) for selector in (Selector(), None))
    classes = encoded(WEB_POD.spec(spread=constraints)).arrays.classes
    assert classes.hard_spread.self_match.tolist() == [[1, 0]]


def test_default_spread_is_marked() -> None:
    classes = encoded(WEB_POD, services=(Service("default", "s", (("app", "web"),)),)).arrays.classes
    assert classes.soft_is_default.tolist() == [True]
    assert classes.soft_spread.max_skew.tolist() == [[3, 5]]


def test_latency_limits_are_infinite_where_there_are_none() -> None:
    classes = encoded(make_pod("a"), make_pod("b").latency(10.0), make_pod("c").latency(10.0, 20.0)).arrays.classes
    assert classes.latency_soft_ms.tolist() == [np.inf, 10.0, 10.0]
    assert classes.latency_hard_ms.tolist() == [np.inf, np.inf, 20.0]
    assert classes.has_latency_limits.tolist() == [False, False, True]


def test_gpu_wishes_are_counts_and_milli() -> None:
    arrays = encoded(make_pod("a"), make_pod("b").gpu(1, 300), make_pod("c").gpu(4)).arrays
    assert arrays.classes.gpu_count.tolist() == [0, 1, 4]
    assert arrays.classes.gpu_milli.tolist() == [0, 300, 1000]
    assert arrays.tables.match[arrays.classes.gpu_any_query].tolist() == [0, 1, 1]


# Counting by hand, over rich random clusters.


def bound_pods(snapshot: Snapshot) -> list[Pod]:
    names = {node.name for node in snapshot.nodes}
    return [pod for pod in snapshot.pods if pod.bound_to in names]


def per_node(snapshot: Snapshot, counts: Callable[[Pod], int]) -> list[int]:
    return [sum(counts(pod) for pod in bound_pods(snapshot) if pod.bound_to == node.name) for node in snapshot.nodes]


@settings(max_examples=60)
@given(rich)
def test_spread_counters_equal_counting_by_hand(snapshot: Snapshot) -> None:
    result = encode(snapshot)
    arrays = result.arrays
    for index, spec in enumerate(result.specs):
        hard = [constraint for constraint in spec.spread if constraint.is_hard]
        for term, constraint in enumerate(hard):

            def counts(pod: Pod, spec: PodSpec = spec, selector: Selector | None = constraint.selector) -> int:
                if selector is None or selector.is_empty or pod.spec.is_terminating or pod.namespace != spec.namespace:
                    return 0
                return int(selector.matches(dict(pod.spec.labels)))

            got = arrays.state.counts[arrays.classes.hard_spread.query[index, term]]
            assert got.tolist() == per_node(snapshot, counts)


@settings(max_examples=60)
@given(rich)
def test_port_counters_equal_comparing_by_hand(snapshot: Snapshot) -> None:
    result = encode(snapshot)
    arrays = result.arrays
    for index, spec in enumerate(result.specs):

        def clashes(pod: Pod, wanted: tuple[HostPort, ...] = spec.host_ports) -> int:
            return int(any(mine.conflicts(theirs) for mine in wanted for theirs in pod.spec.host_ports))

        got = arrays.state.counts[arrays.classes.ports[index]].sum(axis=0) > 0
        assert got.tolist() == [count > 0 for count in per_node(snapshot, clashes)]


@settings(max_examples=60)
@given(rich)
def test_repelling_counters_equal_matching_by_hand(snapshot: Snapshot) -> None:
    result = encode(snapshot)
    arrays = result.arrays
    namespaces = {namespace.name: dict(namespace.labels) for namespace in snapshot.namespaces}
    for index, spec in enumerate(result.specs):

        def repels(pod: Pod, spec: PodSpec = spec) -> int:
            found = 0
            for term in pod.spec.anti_affinity:
                own = not term.namespaces and term.namespace_selector is None
                inside = spec.namespace in (term.namespaces or ((pod.namespace,) if own else ()))
                inside = inside or selector_matches(term.namespace_selector, namespaces.get(spec.namespace, {}))
                found += inside and selector_matches(term.selector, dict(spec.labels))
            return found

        got = arrays.state.counts[arrays.classes.repelled_by.query[index]].sum(axis=0)
        assert got.tolist() == per_node(snapshot, repels)
