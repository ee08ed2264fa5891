"""Tests of writing objects: what is read back is the word that was written, for all that a cluster can hold."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.node import Node, NodePower, NodeReadings
from longshore.core.words.pod import GpuRequest, NodeSelectorTerm, Pod, PodSpec
from longshore.core.words.quantity import INT64_MAX, NANOS_PER_UNIT, parse_nanos
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
)
from longshore.kube import convert, manifest, wire
from longshore.kube.dump import read_objects
from longshore_lab.oracle.cases import make_case
from support.builders import make_node, random_snapshot


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(item))


def read_pod(item: dict[str, Any], *, is_incoming: bool = False) -> Pod:
    return convert.pod(msgspec.json.decode(raw(item), type=wire.Pod), is_incoming=is_incoming)


def read_node(item: dict[str, Any]) -> Node:
    return convert.node(msgspec.json.decode(raw(item), type=wire.Node))


def read_again(snapshot: Snapshot) -> Snapshot:
    items = [manifest.node(word) for word in snapshot.nodes]
    items += [manifest.pod(word) for word in snapshot.pods]
    items += [manifest.namespace(word) for word in snapshot.namespaces]
    items += [manifest.service(word) for word in snapshot.services]
    items += [manifest.controller(word) for word in snapshot.controllers]
    items += [manifest.volume(word) for word in snapshot.volumes]
    items += [manifest.claim(word) for word in snapshot.claims]
    return read_objects(raw(item) for item in items).snapshot


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=150)
def test_random_clusters_read_back_as_they_were(seed: int, index: int) -> None:
    case = make_case(seed, index)
    snapshot = read_objects(raw(item) for item in case["items"]).snapshot
    assert read_again(snapshot) == snapshot
    incoming = read_pod(case["pod"], is_incoming=True)
    assert read_pod(manifest.pod(incoming), is_incoming=True) == incoming


POD_PARTS: list[Any] = [
    pytest.param({}, {}, id="nothing"),
    pytest.param({"uid": "u-1", "deletionTimestamp": "2024-05-01T00:00:00Z"}, {}, id="being deleted"),
    pytest.param({}, {"nodeName": "a", "priority": -5, "schedulerName": "mine"}, id="bound, with priority"),
    pytest.param({}, {"schedulingGates": [{"name": "g"}, {"name": "h"}]}, id="gates"),
    pytest.param({}, {"resourceClaims": [{"name": "x", "resourceClaimName": "y"}]}, id="resource claims"),
    pytest.param({}, {"hostUsers": False, "hostNetwork": True}, id="user namespace on the host's network"),
    pytest.param(
        {},
        {"containers": [{"name": "c"}, {"name": "d", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        id="restart rules",
    ),
    pytest.param({}, {"overhead": {"cpu": "1m"}, "resources": {"requests": {"memory": "1Gi"}}}, id="pod level"),
    pytest.param(
        {},
        {
            "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "0"}}}],
            "containers": [
                {
                    "name": "c",
                    "image": "x:1",
                    "resources": {"requests": {"cpu": "1.5", "x.y/z": 3}, "limits": {"memory": "1G"}},
                    "ports": [
                        {"containerPort": 80},
                        {"containerPort": 80, "hostPort": 81, "protocol": "UDP", "hostIP": "10.0.0.1"},
                    ],
                }
            ],
        },
        id="containers",
    ),
    pytest.param(
        {},
        {
            "volumes": [
                {"name": "a"},
                {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "c", "image": {"reference": "model:1"}},
                {"name": "d", "csi": {"driver": "x"}},
            ]
        },
        id="volumes",
    ),
    pytest.param({"annotations": {"latencySoftConstraint": "20.0", "latencyHardConstraint": "3e1"}}, {}, id="limits"),
    pytest.param({"annotations": {"longshore.dev/gpu-milli": "0300"}}, {}, id="a share of a GPU"),
    pytest.param({"annotations": {"longshore.dev/gpu-milli": "1000"}}, {}, id="all of a GPU, in thousandths"),
    pytest.param({"annotations": {"longshore.dev/gpu-count": "1"}}, {}, id="one GPU"),
    pytest.param(
        {
            "annotations": {
                "longshore.dev/gpu-count": "2",
                "longshore.dev/gpu-milli": "1000",
                "longshore.dev/gpu-model": "B|A|",
                "longshore.dev/gpu-devices": "1,00",
            }
        },
        {"nodeName": "a"},
        id="GPUs that it holds",
    ),
    pytest.param({"annotations": {"note": "x"}, "labels": {"a": "", "b": "c"}}, {}, id="labels and notes"),
]


@pytest.mark.parametrize(("metadata", "spec"), POD_PARTS)
def test_pods_read_back_as_they_were(metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    word = read_pod({"metadata": {"name": "p"} | metadata, "spec": spec})
    assert read_pod(manifest.pod(word)) == word


def test_a_waiting_pod_that_names_a_node_reads_back_as_incoming() -> None:
    word = Pod("p", PodSpec(node_name="a"))
    assert read_pod(manifest.pod(word), is_incoming=True) == word


NODE_PARTS: list[Any] = [
    pytest.param({}, {}, {}, id="nothing"),
    pytest.param({}, {"unschedulable": True, "taints": [{"key": "k", "effect": "NoExecute"}]}, {}, id="cordoned"),
    pytest.param({}, {}, {"images": [{"names": ["a", "b"], "sizeBytes": 5}, {"sizeBytes": 0}]}, id="images"),
    pytest.param({}, {}, {"capacity": {"cpu": "1", "x/y": "0"}, "allocatable": {"memory": "1.5Ki"}}, id="amounts"),
    pytest.param({"annotations": {"longshore.dev/latency-ms": "0"}}, {}, {}, id="latency"),
    pytest.param({"annotations": {"longshore.dev/zone-latency-ms": "b=2, a=0.40"}}, {}, {}, id="latency to zones"),
    pytest.param({"annotations": {"longshore.dev/watts": "90,1.60e2,210"}}, {}, {}, id="watts"),
    pytest.param({"annotations": {"longshore.dev/watts": "100,300"}}, {}, {}, id="the default watts"),
    pytest.param({"annotations": {"longshore.dev/cost-per-hour": "1.0"}}, {}, {}, id="the default price"),
    pytest.param({"annotations": {"longshore.dev/carbon-grams-per-kwh": "12.5"}}, {}, {}, id="carbon"),
    pytest.param({"labels": {"longshore.dev/gpu-model": "T4"}}, {}, {}, id="a GPU's model as a label"),
    pytest.param(
        {"labels": {"longshore.dev/gpu-model": "T4"}, "annotations": {"longshore.dev/gpu-model": ""}},
        {},
        {},
        id="a label that an annotation overrules",
    ),
    pytest.param(
        {"annotations": {"longshore.dev/gpu-model": "T4", "longshore.dev/gpu-count": "0"}}, {}, {}, id="no GPU left"
    ),
]


@pytest.mark.parametrize(("metadata", "spec", "status"), NODE_PARTS)
def test_nodes_read_back_as_they_were(metadata: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]) -> None:
    word = read_node({"metadata": {"name": "n"} | metadata, "spec": spec, "status": status})
    assert read_node(manifest.node(word)) == word


SELECTOR = Selector((Requirement("app", "In", ("web",)), Requirement("tier", "NotIn", ("a", "b"))))
OTHERS = [
    Snapshot(namespaces=(Namespace("x"), Namespace("y", (("team", "a"),)))),
    Snapshot(services=(Service("x", "none", None), Service("x", "empty", ()), Service("x", "s", (("app", "web"),)))),
    Snapshot(
        controllers=(
            Controller("apps/v1", "ReplicaSet", "x", "r", SELECTOR),
            Controller("apps/v1", "ReplicaSet", "x", "all", Selector()),
            Controller("apps/v1", "ReplicaSet", "x", "none", None),
            Controller("v1", "ReplicationController", "x", "c", Selector((Requirement("app", "In", ("web",)),))),
            Controller("v1", "ReplicationController", "x", "none", None),
            Controller("apps/v1", "StatefulSet", "x", "s", SELECTOR),
        )
    ),
    Snapshot(
        volumes=(
            PersistentVolume("v"),
            PersistentVolume("w", (("zone", "a"),), is_csi=True),
            PersistentVolume("x", (), (NodeSelectorTerm((Requirement("zone", "In", ("a",)),)),)),
            PersistentVolume("y", (), ()),
        )
    ),
    Snapshot(
        claims=(
            PersistentVolumeClaim("x", "c"),
            PersistentVolumeClaim("x", "d", "v", ("ReadWriteOnce",)),
            PersistentVolumeClaim("x", "e", "v", is_half_bound=True),
            PersistentVolumeClaim("x", "f", "v", is_lost=True),
            PersistentVolumeClaim("x", "g", is_being_deleted=True),
        )
    ),
]


@pytest.mark.parametrize("snapshot", OTHERS, ids=["namespaces", "services", "controllers", "volumes", "claims"])
def test_other_objects_read_back_as_they_were(snapshot: Snapshot) -> None:
    assert read_again(snapshot) == snapshot


@given(st.integers(0, 500))
@settings(max_examples=40)
def test_fields_without_annotations_get_them(seed: int) -> None:
    # These words come from no cluster: their GPUs, limits and watts stand in no annotation yet.
    snapshot = random_snapshot(seed)
    again = read_again(snapshot)
    for old, new in zip(snapshot.pods, again.pods, strict=True):
        assert replace(new, annotations=old.annotations) == old
    for node, read in zip(snapshot.nodes, again.nodes, strict=True):
        kept = NodeReadings(latency_ms=node.readings.latency_ms)
        assert replace(read, annotations=()) == replace(node, annotations=(), readings=kept)


def test_a_field_that_has_changed_since_overrules_its_annotation() -> None:
    notes = (("longshore.dev/latency-ms", "10"), ("longshore.dev/watts", "1,2"))
    word = Node("n", annotations=notes, readings=NodeReadings(latency_ms=12.5), power=NodePower((1.0, 3.0)))
    assert dict(read_node(manifest.node(word)).annotations) == {
        "longshore.dev/carbon-grams-per-kwh": "400",
        "longshore.dev/cost-per-hour": "1",
        "longshore.dev/latency-ms": "12.5",
        "longshore.dev/watts": "1,3",
    }


def test_what_was_assumed_of_a_node_is_not_written() -> None:
    gone = replace(make_node("n").unannotated().build(), annotations=(("longshore.dev/watts", "1,2"),))
    again = read_node(manifest.node(gone))
    assert again == make_node("n").unannotated().build()
    assert again.assumed == ("carbon", "power", "price")


@pytest.mark.parametrize("note", [None, "a=1", "x", ""])
def test_latencies_to_zones_overrule_their_annotation(note: str | None) -> None:
    key, readings = "longshore.dev/zone-latency-ms", NodeReadings(zone_latency_ms=(("a", 0.4), ("b", 12.0)))
    assumed = ("carbon", "power", "price")
    word = Node("n", annotations=() if note is None else ((key, note),), readings=readings, assumed=assumed)
    again = read_node(manifest.node(word))
    assert (again.readings, dict(again.annotations)) == (readings, {key: "a=0.4,b=12"})


def test_an_annotation_that_cannot_be_read_is_overruled_too() -> None:
    word = Pod(
        "p", PodSpec(latency_soft_ms=5.0, gpu=GpuRequest(1, 1000)), annotations=(("latencySoftConstraint", "x"),)
    )
    assert read_pod(manifest.pod(word)).spec == word.spec


def test_a_limit_is_said_by_the_name_that_it_was_said_by() -> None:
    old = (("latencyHardConstraint", "30"),)
    assert manifest.pod(Pod("p", PodSpec(latency_hard_ms=7.0), annotations=old))["metadata"]["annotations"] == {
        "latencyHardConstraint": "7"
    }
    assert manifest.pod(Pod("p", PodSpec(latency_hard_ms=7.0)))["metadata"]["annotations"] == {
        "longshore.dev/latency-hard-limit-ms": "7"
    }
    both = (*old, ("longshore.dev/latency-hard-limit-ms", "7"))
    assert read_pod(manifest.pod(Pod("p", PodSpec(), annotations=both))).spec.latency_hard_ms is None


@given(st.sampled_from(["cpu", "memory", "pods", "x.y/z", "hugepages-2Mi"]), st.integers(0, INT64_MAX * NANOS_PER_UNIT))
def test_quantities_are_exact(name: str, nanos: int) -> None:
    assert parse_nanos(manifest.quantity(name, nanos)) == nanos


@pytest.mark.parametrize(
    ("name", "text"),
    [("cpu", "250m"), ("cpu", "2"), ("cpu", "1500m"), ("memory", "64Mi"), ("memory", "1000"), ("cpu", "1n")],
)
def test_quantities_read_as_people_write_them(name: str, text: str) -> None:
    assert manifest.quantity(name, parse_nanos(text)) == text
