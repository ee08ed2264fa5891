"""Tests of the recorder: watch events in, a trace and what happened out."""

from typing import Any

import msgspec
import pytest

from longshore.core.words.node import NodeReadings
from longshore.core.words.trace import Create, Delete, LatencyChange, NodeDrain, NodeFail, NodeJoin
from longshore.kube import wire
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import NODES, REPLICA_SETS, Resource
from longshore.live.recording import WATCHED, PodBound, PodGone, Recorder, Scope

PODS = next(resource for resource in WATCHED if resource.kind == "Pod")


class Cluster:
    """Says to a recorder what a watch would say."""

    def __init__(self, scope: Scope | None = None) -> None:
        self.recorder = Recorder(scope)
        self._version = 0
        self._at_start: dict[str, list[Event]] = {}

    def object(self, resource: Resource, name: str, namespace: str = "", **fields: Any) -> Any:
        self._version += 1
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": str(self._version),
        } | fields.pop("metadata", {})
        return msgspec.json.decode(msgspec.json.encode({"metadata": metadata, **fields}), type=resource.body)

    def pod(self, name: str, node: str = "", phase: str = "Pending", **fields: Any) -> wire.Pod:
        container = {
            "name": "main",
            "image": "registry/secret-app:1",
            "env": [{"name": "TOKEN", "value": "hidden"}],
            "resources": {"requests": {"cpu": "1"}},
        }
        spec = {"containers": [container], "nodeName": node} | fields.pop("spec", {})
        return self.object(PODS, name, "shop", spec=spec, status={"phase": phase}, **fields)

    def node(self, name: str, latency: float = 10.0, **fields: Any) -> wire.Node:
        notes = {"longshore.dev/latency-ms": str(latency), "other/note": "secret"}
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        return self.object(
            NODES,
            name,
            metadata={"annotations": notes, "labels": {"zone": "a"}},
            status={"allocatable": room},
            **fields,
        )

    def start(self, *there: tuple[Resource, Any]) -> None:
        for resource in WATCHED:
            events = [Event("ADDED", found) for kind, found in there if kind is resource]
            self.recorder.take(WatchBatch(resource, Stage.LIST_BEGINS), 0.0)
            self.recorder.take(WatchBatch(resource, Stage.LIST, events), 0.0)
            self.recorder.take(WatchBatch(resource, Stage.LIST_ENDS, resource_version=str(self._version)), 0.0)
        assert self.recorder.is_synced()
        self.recorder.start()

    def say(self, time: float, kind: str, resource: Resource, found: Any) -> None:
        self.recorder.take(WatchBatch(resource, Stage.WATCH, [Event(kind, found)]), time)


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.start((NODES, made.node("worker-0")), (NODES, made.node("worker-1")))
    return made


def test_a_pod_is_created_bound_and_deleted(cluster: Cluster) -> None:
    cluster.say(1.0, "ADDED", PODS, cluster.pod("web"))
    cluster.say(1.25, "MODIFIED", PODS, cluster.pod("web", "worker-1"))
    cluster.say(9.0, "DELETED", PODS, cluster.pod("web", "worker-1", "Running"))
    recording = cluster.recorder.finish(10.0)
    create, *rest = recording.happened
    assert isinstance(create, Create)
    assert (create.time, create.pod.key) == (1.0, "shop/web")
    assert rest == [PodBound(1.25, "shop/web", "worker-1"), PodGone(9.0, "shop/web", is_finished=False)]
    assert recording.trace.events == (create, Delete(9.0, "shop/web"))
    assert recording.trace.end == 10.0


def test_a_pod_that_ends_by_itself_has_a_lifetime_from_its_binding_on(cluster: Cluster) -> None:
    cluster.say(1.0, "ADDED", PODS, cluster.pod("job"))
    cluster.say(2.0, "MODIFIED", PODS, cluster.pod("job", "worker-0"))
    cluster.say(7.5, "MODIFIED", PODS, cluster.pod("job", "worker-0", "Succeeded"))
    cluster.say(8.0, "DELETED", PODS, cluster.pod("job", "worker-0", "Succeeded"))
    (event,) = cluster.recorder.finish(10.0).trace.events
    assert isinstance(event, Create)
    assert event.lifetime == 5.5


def test_images_environment_and_foreign_annotations_are_not_recorded(cluster: Cluster) -> None:
    notes = {"latencyHardConstraint": "30", "kubectl.kubernetes.io/last-applied-configuration": "hidden"}
    cluster.say(1.0, "ADDED", PODS, cluster.pod("web", metadata={"annotations": notes}))
    trace = cluster.recorder.finish(2.0).trace
    (event,) = trace.events
    assert isinstance(event, Create)
    assert dict(event.pod.annotations) == {"latencyHardConstraint": "30"}
    assert event.pod.spec.latency_hard_ms == 30
    assert "secret" not in repr(trace)
    assert "hidden" not in repr(trace)


def test_a_pod_that_runs_already_stays_on_its_node_in_the_trace() -> None:
    cluster = Cluster()
    cluster.start((NODES, cluster.node("worker-0")), (PODS, cluster.pod("old", "worker-0", "Running")))
    (event,) = cluster.recorder.finish(1.0).trace.events
    assert isinstance(event, Create)
    assert event.time == 0.0
    assert event.pod.spec.node_name == "worker-0"


def test_a_name_that_comes_back_is_another_pod(cluster: Cluster) -> None:
    cluster.say(1.0, "ADDED", PODS, cluster.pod("db-0"))
    cluster.say(2.0, "DELETED", PODS, cluster.pod("db-0"))
    cluster.say(3.0, "ADDED", PODS, cluster.pod("db-0"))
    trace = cluster.recorder.finish(4.0).trace
    assert [event.pod.name for event in trace.events if isinstance(event, Create)] == ["db-0", "db-0-2"]


def test_only_pods_in_scope_are_recorded() -> None:
    cluster = Cluster(Scope(scheduler_name="longshore"))
    cluster.start((NODES, cluster.node("worker-0")))
    cluster.say(1.0, "ADDED", PODS, cluster.pod("ours", spec={"schedulerName": "longshore"}))
    cluster.say(1.0, "ADDED", PODS, cluster.pod("theirs"))
    trace = cluster.recorder.finish(2.0).trace
    assert [event.pod.name for event in trace.events if isinstance(event, Create)] == ["ours"]


def test_nodes_join_are_cordoned_and_leave(cluster: Cluster) -> None:
    cluster.say(1.0, "ADDED", NODES, cluster.node("worker-2"))
    cluster.say(2.0, "MODIFIED", NODES, cluster.node("worker-0", spec={"unschedulable": True}))
    cluster.say(3.0, "MODIFIED", NODES, cluster.node("worker-0"))
    cluster.say(4.0, "DELETED", NODES, cluster.node("worker-1"))
    recording = cluster.recorder.finish(5.0)
    assert recording.trace.events == (
        NodeJoin(1.0, "worker-2"),
        NodeDrain(2.0, "worker-0"),
        NodeJoin(3.0, "worker-0"),
        NodeFail(4.0, "worker-1"),
    )
    assert recording.trace.absent == {"worker-2"}
    assert "cordoned" in " ".join(recording.remarks)


def test_a_node_that_is_not_ready_joins_when_it_is(cluster: Cluster) -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    cluster.say(1.0, "ADDED", NODES, cluster.node("worker-2", spec={"taints": [taint]}))
    cluster.say(2.0, "MODIFIED", NODES, cluster.node("worker-2"))
    assert cluster.recorder.finish(3.0).trace.events == (NodeJoin(2.0, "worker-2"),)


def test_latencies_come_from_annotations_until_readings_are_given(cluster: Cluster) -> None:
    cluster.say(1.0, "MODIFIED", NODES, cluster.node("worker-0", latency=20.0))
    cluster.recorder.put_readings({"worker-0": NodeReadings(latency_ms=25.0)}, 2.0)
    cluster.say(3.0, "MODIFIED", NODES, cluster.node("worker-0", latency=40.0))
    assert cluster.recorder.finish(4.0).trace.events == (
        LatencyChange(1.0, (("worker-0", 20.0),)),
        LatencyChange(2.0, (("worker-0", 25.0),)),
    )


def test_controllers_that_are_gone_before_the_end_are_kept(cluster: Cluster) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}}
    cluster.say(1.0, "ADDED", REPLICA_SETS, cluster.object(REPLICA_SETS, "web-1", "shop", spec=spec))
    cluster.say(1.1, "ADDED", PODS, cluster.pod("web-1-a"))
    cluster.say(2.0, "DELETED", REPLICA_SETS, cluster.object(REPLICA_SETS, "web-1", "shop", spec=spec))
    assert [one.name for one in cluster.recorder.finish(3.0).trace.controllers] == ["web-1"]


def test_pods_that_are_not_modelled_are_left_out_with_a_sentence(cluster: Cluster) -> None:
    claims = [{"name": "gpu"}]
    cluster.say(1.0, "ADDED", PODS, cluster.pod("special", spec={"resourceClaims": claims}))
    cluster.say(2.0, "DELETED", PODS, cluster.pod("special"))
    recording = cluster.recorder.finish(3.0)
    assert recording.trace.events == ()
    assert recording.happened == ()
    assert "shop/special" in recording.remarks[0]
