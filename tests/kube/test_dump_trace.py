"""Tests of a dump as a trace: what runs goes back where it was, under every filter, and what waits comes after."""

from dataclasses import replace

import numpy as np
import pytest

from longshore import filters
from longshore.core.arrays.place import place
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.pod import AffinityTerm, NodeSelectorTerm, Pod, SpreadConstraint, Volume
from longshore.core.words.snapshot import Namespace, Snapshot
from longshore.core.words.trace import Create, Trace
from longshore.kube.dump import Import
from longshore.kube.dump_trace import left_out, trace_from_dump
from longshore.kube.trace_file import read_trace, write_trace
from longshore.policies import REGISTRY as POLICIES
from support.builders import make_node, make_pod, make_snapshot
from support.compiling import encode

WEB = Selector((Requirement("app", "In", ("web",)),))


def trace_of(snapshot: Snapshot) -> Trace:
    return trace_from_dump(Import(snapshot, {}))


def created(trace: Trace) -> list[tuple[float, Pod]]:
    return [(event.time, event.pod) for event in trace.events if isinstance(event, Create)]


def test_bound_pods_come_first_with_their_node_as_the_only_choice() -> None:
    snapshot = make_snapshot(make_node("a"), make_pod("w"), make_pod("p").on("a"))
    found = [(time, pod.name, pod.spec.node_name, pod.bound_to) for time, pod in created(trace_of(snapshot))]
    assert found == [(0.0, "p", "a", ""), (1.0, "w", "", "")]


def test_waiting_pods_come_by_priority_and_then_in_the_dumps_order() -> None:
    waiting = [make_pod("x"), make_pod("high").priority(9), make_pod("y"), make_pod("low").priority(-1)]
    assert [pod.name for _, pod in created(trace_of(make_snapshot(*waiting)))] == ["high", "x", "y", "low"]


def test_waiting_pods_stay_as_they_are() -> None:
    pod = make_pod("x").latency(10.0, 20.0).spec(spread=(SpreadConstraint(1, "zone", True, WEB),))
    assert [found for _, found in created(trace_of(make_snapshot(pod)))] == [pod.build()]


def test_pods_on_unknown_nodes_behind_gates_and_being_deleted_are_left_out() -> None:
    gated = replace(make_pod("gated").build(), scheduling_gates=("wait",))
    ending = make_pod("ending").spec(is_terminating=True).build()
    snapshot = Snapshot(pods=(make_pod("lost").on("gone").build(), gated, ending))
    assert trace_of(snapshot).events == ()
    assert left_out(snapshot) == {
        "default/lost": "its node is not in the dump",
        "default/gated": "it is gated",
        "default/ending": "it is being deleted",
    }


def test_a_gated_pod_that_runs_is_kept() -> None:
    running = replace(make_pod("p").on("a").build(), scheduling_gates=("wait",))
    assert left_out(make_snapshot(make_node("a"), running), {running.key}) == {}


def test_other_objects_are_kept() -> None:
    snapshot = make_snapshot(make_node("a"), namespaces=(Namespace("x"),))
    trace = trace_of(snapshot)
    assert (trace.nodes, trace.namespaces) == (snapshot.nodes, snapshot.namespaces)


STUBBORN = {
    "a taint": make_pod("p"),
    "a selector": make_pod("p").spec(node_selector=(("disk", "ssd"),)),
    "affinity to nodes": make_pod("p").spec(node_affinity=(NodeSelectorTerm(),)),
    "affinity to a pod that comes later": make_pod("p").spec(affinity=(AffinityTerm("zone", WEB),)),
    "spread": make_pod("p").label("app", "web").spec(spread=(SpreadConstraint(1, "none", True, WEB),)),
    "a latency limit": make_pod("p").latency(1.0, 2.0),
    "a volume": make_pod("p").spec(volumes=(Volume("persistentVolumeClaim", "gone"),)),
}


@pytest.mark.parametrize("pod", STUBBORN.values(), ids=STUBBORN.keys())
def test_bound_pods_go_back_whatever_has_changed(pod: object) -> None:
    old = make_node("a").taint("k").unschedulable().readings(latency_ms=50.0).label("zone", "z")
    snapshot = make_snapshot(make_node("b"), old, pod.on("a"), make_pod("w").label("app", "web").on("a"))  # type: ignore[attr-defined]
    trace = trace_of(snapshot)
    encoded = encode(trace.snapshot())
    for _, settled in created(trace):
        mask = filters.feasible(encoded.arrays, encoded.class_of(settled), filters.filter_set("upstream+latency"))
        assert mask.tolist() == [False, True]


def test_others_see_bound_pods_as_before() -> None:
    near, far = AffinityTerm("zone", WEB), AffinityTerm("kubernetes.io/hostname", WEB)
    snapshot = make_snapshot(
        make_node("a").label("zone", "x").label("kubernetes.io/hostname", "a"),
        make_node("b").label("zone", "x").label("kubernetes.io/hostname", "b"),
        make_node("c").label("zone", "y").label("kubernetes.io/hostname", "c"),
        make_pod("drawing").spec(affinity=(near,)).on("a"),
        make_pod("repelling").spec(anti_affinity=(far,)).host_port(80).on("b"),
        make_pod("w").cpu(100).label("app", "web").host_port(80),
    )
    was, now = encode(snapshot), encode(trace_of(snapshot).snapshot())
    waiting = snapshot.pods[-1]
    arrays = now.arrays
    for pod, node in ((trace_of(snapshot).events[i].pod, i) for i in range(2)):  # type: ignore[union-attr]
        heuristic = POLICIES.load("kube-default")
        devices = heuristic.devices(arrays, now.class_of(pod))[node]
        arrays = place(arrays, now.class_of(pod), np.asarray(node), devices)
    names = filters.UPSTREAM
    masks = [
        filters.feasible(was.arrays, was.class_of(waiting), names),
        filters.feasible(arrays, now.class_of(waiting), names),
    ]
    assert masks[0].tolist() == masks[1].tolist() == [True, False, True]
    scores = [
        POLICIES.load("kube-default").score(cluster, encoded.class_of(waiting), mask)
        for cluster, encoded, mask in zip((was.arrays, arrays), (was, now), masks, strict=True)
    ]
    assert scores[0][[0, 2]].tolist() == scores[1][[0, 2]].tolist()


def test_a_trace_from_a_dump_reads_back_from_its_file() -> None:
    limits = (("latencyHardConstraint", "20"), ("latencySoftConstraint", "10"))
    bound = replace(make_pod("p").latency(10.0, 20.0).on("a").build(), annotations=(*limits, ("note", "x")))
    trace = trace_of(replace(make_snapshot(make_node("a").unannotated()), pods=(bound,)))
    assert read_trace(write_trace(trace)) == trace
