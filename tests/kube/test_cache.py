"""The reducer: what becomes a change and what does not, versions, lists, and objects that cannot be read."""

from typing import Any

import msgspec
import pytest

from longshore.core.words.snapshot import Controller, Namespace
from longshore.kube import wire
from longshore.kube.cache import Cache, ContextChange, NodeChange, PodChange, PodCondition
from longshore.kube.reflector import Event, Stage, Unreadable, WatchBatch
from longshore.kube.resources import DISRUPTION_BUDGETS, NAMESPACES, NODES, PODS, REPLICA_SETS, RESOURCES, Resource


def pod(name: str, version: int, *, uid: str = "u", status: dict[str, Any] | None = None, **spec: Any) -> wire.Pod:
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return msgspec.convert(
        {"metadata": meta, "spec": {"containers": containers, **spec}, "status": status or {"phase": "Pending"}},
        wire.Pod,
    )


def node(name: str, version: int, cpu: str = "4", **meta: Any) -> wire.Node:
    meta = {"name": name, "resourceVersion": str(version), **meta}
    return msgspec.convert({"metadata": meta, "status": {"allocatable": {"cpu": cpu}}}, wire.Node)


def listed(cache: Cache, resource: Resource, *objects: Any, version: int = 100) -> list[Any]:
    changes = cache.apply(WatchBatch(resource, Stage.LIST_BEGINS))
    for thing in objects:
        changes += cache.apply(WatchBatch(resource, Stage.LIST, [Event("ADDED", thing)]))
    return changes + cache.apply(WatchBatch(resource, Stage.LIST_ENDS, resource_version=str(version)))


def watched(cache: Cache, resource: Resource, kind: str, thing: Any) -> list[Any]:
    return cache.apply(WatchBatch(resource, Stage.WATCH, [Event(kind, thing)]))


def names(cache: Cache) -> list[str]:
    return sorted(held.name for held in cache.pods())


def test_cache_is_synced_when_every_list_has_ended() -> None:
    cache = Cache()
    for resource in RESOURCES:
        assert not cache.is_synced()
        listed(cache, resource)
        assert cache.is_synced(resource.kind)
    assert cache.is_synced()


def test_cache_is_not_synced_by_half_a_list() -> None:
    cache = Cache()
    cache.apply(WatchBatch(NODES, Stage.LIST_BEGINS))
    cache.apply(WatchBatch(NODES, Stage.LIST, [Event("ADDED", node("a", 1))]))
    assert not cache.is_synced("Node")


def test_cache_gives_pods_what_the_scheduler_reads() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"}
    condition["lastTransitionTime"] = "2026-01-02T03:04:05Z"
    status: dict[str, Any] = {"phase": "Pending", "nominatedNodeName": "n7", "startTime": "1970-01-01T00:00:09Z"}
    source = pod(
        "a", 5, status=status | {"conditions": [condition]}, preemptionPolicy="Never", schedulerName="longshore"
    )
    meta = msgspec.structs.replace(
        source.metadata, creation_timestamp="1970-01-01T00:00:07Z", deletion_timestamp="1970-01-01T00:01:00Z"
    )
    (change,) = watched(Cache(), PODS, "ADDED", msgspec.structs.replace(source, metadata=meta))
    assert isinstance(change, PodChange)
    assert (change.key, change.namespace, change.name, change.uid) == ("default/a", "default", "a", "u")
    assert change.pod is not None
    assert change.pod.scheduler_name == change.scheduler_name == "longshore"
    assert (change.created, change.started) == (7.0, 9.0)
    assert change.is_terminating
    assert (change.nominated_node, change.preemption_policy, change.phase) == ("n7", "Never", "Pending")
    assert change.conditions == (PodCondition("PodScheduled", "False", "Unschedulable", "0/3", "2026-01-02T03:04:05Z"),)
    assert not change.is_gone


def test_cache_does_not_keep_that_a_pod_is_scheduled() -> None:
    status = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready"}]}
    (change,) = watched(Cache(), PODS, "ADDED", pod("a", 5, status=status, nodeName="n"))
    assert change.conditions == ()
    assert change.bound_to == "n"


def test_heartbeats_change_nothing() -> None:
    cache = Cache()
    listed(cache, NODES, node("a", 1))
    assert watched(cache, NODES, "MODIFIED", node("a", 101)) == []
    (change,) = watched(cache, NODES, "MODIFIED", node("a", 102, cpu="8"))
    assert isinstance(change, NodeChange)
    assert change.node is not None
    assert change.node.allocatable == (("cpu", 8 * 10**9),)


def test_a_new_list_of_the_same_objects_changes_nothing() -> None:
    cache = Cache()
    listed(cache, PODS, pod("a", 1), pod("b", 2))
    assert listed(cache, PODS, pod("a", 1), pod("b", 2), version=200) == []


def test_a_list_drops_what_is_not_in_it() -> None:
    cache = Cache()
    listed(cache, PODS, pod("a", 1), pod("b", 2))
    (gone,) = listed(cache, PODS, pod("b", 2), version=200)
    assert gone == PodChange("default/a", "default", "a", "u")
    assert gone.is_gone


def test_a_list_that_was_broken_off_drops_nothing() -> None:
    cache = Cache()
    listed(cache, PODS, pod("a", 1), pod("b", 2))
    cache.apply(WatchBatch(PODS, Stage.LIST_BEGINS))
    cache.apply(WatchBatch(PODS, Stage.LIST, [Event("ADDED", pod("a", 1))]))
    assert names(cache) == ["a", "b"]
    listed(cache, PODS, pod("b", 2), version=200)
    assert names(cache) == ["b"]


def test_a_list_is_the_truth_also_where_its_versions_are_lower() -> None:
    cache = Cache()
    listed(cache, PODS, pod("a", 90), version=100)
    listed(cache, PODS, pod("a", 5, priority=3), version=10)
    assert cache.pod("default/a").pod.priority == 3
    assert watched(cache, PODS, "MODIFIED", pod("a", 11, priority=4)) != []


def test_older_versions_are_passed_over() -> None:
    cache = Cache()
    watched(cache, PODS, "ADDED", pod("a", 10, priority=1))
    assert watched(cache, PODS, "MODIFIED", pod("a", 9, priority=2)) == []
    assert watched(cache, PODS, "DELETED", pod("a", 9)) == []
    assert cache.pod("default/a").pod.priority == 1


def test_the_dead_do_not_return() -> None:
    cache = Cache()
    watched(cache, PODS, "ADDED", pod("a", 10))
    watched(cache, PODS, "DELETED", pod("a", 12))
    assert watched(cache, PODS, "MODIFIED", pod("a", 11)) == []
    assert names(cache) == []


def test_the_dead_do_not_return_after_a_bookmark_either() -> None:
    cache = Cache()
    watched(cache, PODS, "ADDED", pod("a", 10))
    watched(cache, PODS, "DELETED", pod("a", 12))
    cache.apply(WatchBatch(PODS, Stage.WATCH, resource_version="20"))
    assert watched(cache, PODS, "MODIFIED", pod("a", 11)) == []
    assert watched(cache, PODS, "ADDED", pod("a", 21, uid="v")) != []


def test_a_bookmark_ends_the_memory_of_deletions() -> None:
    cache = Cache()
    for i in range(100):
        watched(cache, PODS, "ADDED", pod(f"p{i}", 2 * i + 1))
        watched(cache, PODS, "DELETED", pod(f"p{i}", 2 * i + 2))
    cache.apply(WatchBatch(PODS, Stage.WATCH, resource_version="300"))
    assert cache._stores["Pod"].deleted == {}


def test_events_without_comparable_versions_count_in_their_order() -> None:
    cache = Cache()
    odd = pod("a", 1)
    for priority in (1, 2):
        meta = msgspec.structs.replace(odd.metadata, resource_version=f"v-{priority}")
        newer = pod("a", 1, priority=priority)
        watched(cache, PODS, "MODIFIED", msgspec.structs.replace(newer, metadata=meta))
    assert cache.pod("default/a").pod.priority == 2


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_are_gone(phase: str) -> None:
    cache = Cache()
    watched(cache, PODS, "ADDED", pod("a", 1, nodeName="n"))
    (change,) = watched(cache, PODS, "MODIFIED", pod("a", 2, nodeName="n", status={"phase": phase}))
    assert change.is_gone
    assert change.bound_to == "n"


def test_a_pod_made_again_under_its_name_is_first_gone() -> None:
    cache = Cache()
    watched(cache, PODS, "ADDED", pod("a", 1, uid="old"))
    gone, new = watched(cache, PODS, "MODIFIED", pod("a", 5, uid="new"))
    assert (gone.uid, gone.is_gone) == ("old", True)
    assert (new.uid, new.is_gone) == ("new", False)


def test_a_pod_that_cannot_be_read_is_a_change_with_a_sentence() -> None:
    cache = Cache()
    bad = pod("a", 1, overhead={"cpu": "many"}, schedulerName="longshore")
    (change,) = watched(cache, PODS, "ADDED", bad)
    assert change.pod is None
    assert not change.is_gone
    assert "`default/a`" in change.error
    assert "spec.overhead.cpu" in change.error
    assert change.scheduler_name == "longshore"
    assert cache.snapshot().pods == ()
    assert watched(cache, PODS, "MODIFIED", msgspec.structs.replace(bad)) == []


def test_a_bound_pod_counts_without_annotations_that_cannot_be_read() -> None:
    cache = Cache()
    bad = pod("a", 1, nodeName="n", containers=[{"name": "c", "resources": {"requests": {"cpu": "2"}}}])
    notes = {"latencyHardConstraint": "10ms", "team": "shop"}
    bad = msgspec.structs.replace(bad, metadata=msgspec.structs.replace(bad.metadata, annotations=notes))
    (change,) = watched(cache, PODS, "ADDED", bad)
    assert "latencyHardConstraint" in change.error
    (running,) = cache.snapshot().pods
    assert (running.bound_to, running.annotations) == ("n", (("team", "shop"),))
    assert dict(running.spec.containers[0].requests) == {"cpu": 2 * 10**9}


def test_a_waiting_pod_counts_without_annotations_that_cannot_be_read() -> None:
    notes = {
        "longshore.dev/latency-hard-limit-ms": "10ms",
        "latencyHardConstraint": "30",
        "latencySoftConstraint": "5",
        "longshore.dev/gpu-milli": "half",
        "longshore.dev/gpu-count": "1",
    }
    bad = pod("a", 1)
    bad = msgspec.structs.replace(bad, metadata=msgspec.structs.replace(bad.metadata, annotations=notes))
    (change,) = watched(Cache(), PODS, "ADDED", bad)
    assert change.pod is not None
    spec = change.pod.spec
    assert (spec.latency_hard_ms, spec.latency_soft_ms, spec.gpu) == (30.0, 5.0, None)
    assert "`10ms`" in change.error
    assert "`half`" in change.error


def test_a_bound_pod_of_which_nobody_knows_what_it_uses_fills_its_node() -> None:
    cache = Cache()
    (change,) = watched(cache, PODS, "ADDED", pod("a", 1, overhead={"cpu": "many"}, nodeName="n"))
    assert "spec.overhead.cpu" in change.error
    (running,) = cache.snapshot().pods
    assert running.bound_to == "n"
    assert dict(running.spec.containers[0].requests)["cpu"] == 10**6 * 10**9


def test_a_node_that_cannot_be_read_is_a_change_with_a_sentence() -> None:
    (change,) = watched(Cache(), NODES, "ADDED", node("a", 1, cpu="-4"))
    assert change.node is None
    assert "Node `a`: field `status.allocatable.cpu`" in change.error


def test_a_node_stays_without_annotations_that_cannot_be_read() -> None:
    notes = {"longshore.dev/latency-ms": "abc", "longshore.dev/gpu-count": "-1", "longshore.dev/cost-per-hour": "2"}
    (change,) = watched(Cache(), NODES, "ADDED", node("a", 1, annotations=notes))
    assert change.node is not None
    assert change.node.readings.latency_ms is None
    assert change.node.gpu_count == 0
    assert change.node.cost_per_hour == 2.0
    assert change.error is not None
    assert "longshore.dev/latency-ms" in change.error


def test_an_object_without_the_fields_of_its_kind_is_a_change_with_a_sentence() -> None:
    odd = Unreadable(wire.ObjectVersion("a", "default", "u", "1"), "Expected `int`, got `str` - at `$.spec.priority`")
    (change,) = watched(Cache(), PODS, "ADDED", odd)
    assert "$.spec.priority" in change.error


def test_the_context_is_given_as_words_in_order() -> None:
    cache = Cache()
    spaces = [wire.Namespace(wire.ObjectMeta(name=name, resource_version="1")) for name in ("b", "a")]
    assert listed(cache, NAMESPACES, *spaces) == [
        ContextChange("Namespace", after=Namespace("b")),
        ContextChange("Namespace", after=Namespace("a")),
    ]
    selector = wire.WorkloadSpec(wire.LabelSelector({"app": "x"}))
    sets = wire.Workload(wire.ObjectMeta(name="web", namespace="a", resource_version="2"), selector)
    listed(cache, REPLICA_SETS, sets)
    context = cache.context()
    assert context["namespaces"] == (Namespace("a"), Namespace("b"))
    (controller,) = context["controllers"]
    assert isinstance(controller, Controller)
    assert (controller.api_version, controller.kind, controller.namespace, controller.name) == (
        *("apps/v1", "ReplicaSet", "a", "web"),
    )
    assert cache.snapshot().namespaces == context["namespaces"]


def test_a_change_of_the_context_says_what_was_and_what_is() -> None:
    cache = Cache()
    plain = wire.Namespace(wire.ObjectMeta(name="a", resource_version="1"))
    labelled = wire.Namespace(wire.ObjectMeta(name="a", resource_version="2", labels={"team": "x"}))
    word, other = Namespace("a"), Namespace("a", (("team", "x"),))
    assert watched(cache, NAMESPACES, "ADDED", plain) == [ContextChange("Namespace", None, None, word)]
    assert watched(cache, NAMESPACES, "MODIFIED", labelled) == [ContextChange("Namespace", None, word, other)]
    gone = msgspec.structs.replace(labelled, metadata=wire.ObjectMeta(name="a", resource_version="3"))
    assert watched(cache, NAMESPACES, "DELETED", gone) == [ContextChange("Namespace", None, other, None)]


def test_a_part_of_the_context_that_cannot_be_read_is_left_out_with_a_sentence() -> None:
    cache = Cache()
    bad = wire.WorkloadSpec(wire.LabelSelector(match_expressions=[wire.SelectorRequirement("k", "Perhaps")]))
    changes = listed(cache, REPLICA_SETS, wire.Workload(wire.ObjectMeta(name="w", namespace="a"), bad))
    (change,) = changes
    assert change.kind == "ReplicaSet"
    assert "Perhaps" in (change.error or "")
    assert cache.context()["controllers"] == ()


def test_disruption_budgets_are_given_as_words() -> None:
    cache = Cache()
    source = {"metadata": {"name": "b", "namespace": "a", "resourceVersion": "4"}}
    source |= {"spec": {"selector": {"matchLabels": {"app": "x"}}}}
    source |= {"status": {"disruptionsAllowed": 2, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}}
    raw = msgspec.json.decode(msgspec.json.encode(source), type=wire.PodDisruptionBudget)
    (change,) = listed(cache, DISRUPTION_BUDGETS, raw)
    (budget,) = cache.disruption_budgets()
    assert change == ContextChange("PodDisruptionBudget", after=budget)
    assert (budget.namespace, budget.name, budget.disruptions_allowed) == ("a", "b", 2)
    assert budget.disrupted_pods == {"p"}
    assert budget.selector.matches({"app": "x"})


def test_like_pods_share_their_specification() -> None:
    cache = Cache()
    listed(cache, PODS, pod("a", 1, uid="1"), pod("b", 2, uid="2"), pod("c", 3, uid="3", priority=1))
    first, second, third = (held.pod for held in cache.pods())
    assert first.spec is second.spec is third.spec


def test_shared_values_that_nobody_holds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longshore.kube.cache._SWEEP_AT_LEAST", 50)
    cache = Cache()
    for i in range(500):
        thing = pod("a", i + 1, nodeName=f"node-{i}", nodeSelector={"k": str(i)})
        watched(cache, PODS, "MODIFIED", thing)
    assert len(cache._shared) <= 120
    assert cache.pod("default/a").bound_to == "node-499"


def test_specifications_of_applications_that_are_gone_are_soon_forgotten() -> None:
    cache, num_pods = Cache(), 1500
    kept = [pod(f"kept-{i}", i + 1, nodeSelector={"kept": str(i)}) for i in range(num_pods)]
    listed(cache, PODS, *kept)
    for i in range(2 * num_pods):
        watched(cache, PODS, "MODIFIED", pod("rolled-out", num_pods + i + 1, nodeSelector={"k": str(i)}))
        assert len(cache._shared) < 1.7 * num_pods
