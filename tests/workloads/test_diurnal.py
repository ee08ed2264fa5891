"""Tests of the day in a mixed cluster: its rhythm, its load, its machines, and that it uses every filter."""

import statistics
from collections import Counter

import pytest

from longshore.core.arrays.encode import encode
from longshore.core.words.errors import InputError
from longshore.core.words.trace import Trace
from longshore.filters import static_parts
from longshore.workloads.diurnal import Diurnal
from longshore.workloads.diurnal_apps import HARD_LIMIT_MS
from workloads.facts import creates, latency_changes, offered_load

SEEDS = range(4)


@pytest.fixture(scope="module", params=SEEDS)
def trace(request: pytest.FixtureRequest) -> Trace:
    return Diurnal().trace(request.param)


def test_arrivals_follow_the_clock() -> None:
    hours = Counter(int(event.time // 3600) for event in creates(Diurnal(pods=20_000).trace(0)))
    busy, quiet = sum(hours[hour] for hour in (12, 13, 14, 15)), sum(hours[hour] for hour in (0, 1, 2, 3))
    assert busy / quiet == pytest.approx(1.6 / 0.4, rel=0.15)


@pytest.mark.parametrize(("nodes", "load"), [(16, 0.5), (60, 0.25)])
def test_the_offered_load_is_what_was_asked_for(nodes: int, load: float) -> None:
    # Lifetimes have a heavy tail, so a mean over some seeds says more than one trace.
    loads = [offered_load(Diurnal(nodes=nodes, load=load).trace(seed)) for seed in SEEDS]
    assert statistics.mean(loads) == pytest.approx(load, rel=0.1)


def test_lifetimes_are_log_normal() -> None:
    lifetimes = sorted(event.lifetime or 0.0 for event in creates(Diurnal(pods=20_000).trace(1)))
    mean, median = statistics.mean(lifetimes), statistics.median(lifetimes)
    assert mean / median == pytest.approx(2.718281828 ** (1.2**2 / 2), rel=0.1)
    assert lifetimes[int(0.99 * len(lifetimes))] / median == pytest.approx(16.3, rel=0.15)


def test_machines_are_mixed(trace: Trace) -> None:
    assert len({node.allocatable for node in trace.nodes}) >= 3
    assert len({node.power for node in trace.nodes}) >= 3
    labels = [dict(node.labels) for node in trace.nodes]
    assert Counter(row["topology.kubernetes.io/zone"] for row in labels).keys() == {"zone-a", "zone-b", "zone-c"}
    effects = {taint.effect for node in trace.nodes for taint in node.taints}
    assert effects == {"NoSchedule", "PreferNoSchedule"}
    assert any(node.images for node in trace.nodes)


def test_every_constraint_is_used(trace: Trace) -> None:
    specs = {event.pod.spec for event in creates(trace)}
    used = {
        "node selector": any(spec.node_selector for spec in specs),
        "node affinity": any(spec.node_affinity for spec in specs),
        "node preferences": any(spec.node_preferences for spec in specs),
        "tolerations": any(spec.tolerations for spec in specs),
        "ports": any(spec.host_ports for spec in specs),
        "hard spread": any(term.is_hard for spec in specs for term in spec.spread),
        "soft spread": any(not term.is_hard for spec in specs for term in spec.spread),
        "affinity": any(spec.affinity for spec in specs),
        "anti-affinity": any(spec.anti_affinity for spec in specs),
        "preferred affinity": any(spec.preferred_affinity for spec in specs),
        "preferred anti-affinity": any(spec.preferred_anti_affinity for spec in specs),
        "namespace selector": any(term.namespace_selector for spec in specs for term in spec.anti_affinity),
        "latency": any(spec.latency_hard_ms is not None for spec in specs),
        "namespaces": len({spec.namespace for spec in specs}) == 3,
    }
    assert [name for name, is_used in used.items() if not is_used] == []


def test_every_filter_can_refuse_a_node(trace: Trace) -> None:
    arrays = encode(trace.snapshot(), static_parts()).arrays
    masks = arrays.tables.masks
    assert not masks[arrays.classes.static_masks["TaintToleration"]].all()
    assert not masks[arrays.classes.static_masks["NodeAffinity"]].all()
    for terms in (arrays.classes.affinity, arrays.classes.anti_affinity, arrays.classes.repelled_by):
        assert terms.query.any()
    # Not only by their own kind: pods keep away others that have nothing against them.
    repelled, repelling = arrays.classes.repelled_by.query.any(axis=1), arrays.classes.anti_affinity.query.any(axis=1)
    assert (repelled & ~repelling).any()
    assert arrays.classes.hard_spread.query.any()
    assert arrays.classes.soft_spread.query.any()
    assert arrays.classes.ports.any()


def test_latencies_follow_the_clock_beyond_the_hard_limit(trace: Trace) -> None:
    changes = latency_changes(trace)
    assert [change.time for change in changes] == [hour * 3600.0 for hour in range(24)]
    slowest = [max(latency for _, latency in change.latency_ms) for change in changes]
    assert slowest.index(max(slowest)) == 14
    assert min(slowest) < HARD_LIMIT_MS < max(slowest)
    fastest = [min(latency for _, latency in change.latency_ms) for change in changes]
    assert max(fastest) < HARD_LIMIT_MS


def test_pods_that_few_nodes_can_hold_are_few(trace: Trace) -> None:
    assert trace.end is not None
    running: Counter[str] = Counter()
    for event in creates(trace):
        if event.pod.spec.host_ports:
            running[event.pod.spec.labels[0][1]] += min(event.lifetime or 0.0, trace.end - event.time)  # type: ignore[assignment]
    assert running
    assert all(time / trace.end < len(trace.nodes) / 2 for time in running.values())


def test_a_share_of_none_has_no_constraints() -> None:
    specs = {event.pod.spec for event in creates(Diurnal(constrained_share=0.0, pods=300).trace(0))}
    assert not any(spec.affinity or spec.anti_affinity or spec.spread or spec.tolerations for spec in specs)


def test_too_few_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="got nodes `5`, expected 6 or more"):
        Diurnal(nodes=5)
