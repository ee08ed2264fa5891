"""Tests of a workload's objects: moved to its own namespace, labelled, and the same to a scheduler."""

from dataclasses import replace

import msgspec

from longshore.core.words.labels import Selector
from longshore.core.words.pod import AffinityTerm, Container, Volume
from longshore.core.words.snapshot import Namespace, Service
from longshore.kube import convert, wire
from longshore.live.workload import objects
from longshore.live.workload.objects import MANAGED_BY, WORKLOAD, Ground
from longshore.workloads.apps import HASH_LABEL, make_app
from longshore.workloads.machines import make_node

GROUND = Ground("longshore-workload-x-0", "longshore", objects.LAB_IMAGE)
APP = make_app("web", cpu_millis=250, memory_mib=64, latency_soft_ms=20.0, latency_hard_ms=30.0)


def test_a_pod_keeps_what_scheduling_reads() -> None:
    word = APP.pod(0)
    read = convert.pod(msgspec.convert(objects.pod(GROUND, word), wire.Pod, strict=False))
    assert read.scheduler_name == "longshore"
    assert read.spec.namespace == GROUND.namespace
    assert dict(read.spec.labels) == dict(word.spec.labels) | {MANAGED_BY: WORKLOAD}
    assert (read.spec.latency_soft_ms, read.spec.latency_hard_ms) == (20.0, 30.0)
    assert read.spec.containers[0].requests == word.spec.containers[0].requests
    assert read.spec.owner is None


def test_a_pod_does_no_harm() -> None:
    word = replace(APP.pod(0), spec=replace(APP.spec, volumes=(Volume("hostPath"),)))
    spec = objects.pod(GROUND, word)["spec"]
    assert "volumes" not in spec
    assert spec["automountServiceAccountToken"] is False
    assert spec["containers"][0]["image"] == objects.LAB_IMAGE
    assert spec["containers"][0]["imagePullPolicy"] == "Never"


def test_a_pod_without_containers_gets_one() -> None:
    word = replace(APP.pod(0), spec=replace(APP.spec, containers=()))
    assert len(objects.pod(GROUND, word)["spec"]["containers"]) == 1


def test_init_containers_have_the_image_too() -> None:
    word = replace(APP.pod(0), spec=replace(APP.spec, init_containers=(Container(image="other"),)))
    assert objects.pod(GROUND, word)["spec"]["initContainers"][0]["image"] == objects.LAB_IMAGE


def test_other_namespaces_are_moved_with_the_terms_that_name_them() -> None:
    term = AffinityTerm("zone", Selector(()), namespaces=("shop", "default"))
    word = replace(APP.pod(0), spec=replace(APP.spec, namespace="shop", affinity=(term,)))
    body = objects.pod(GROUND, word)
    assert body["metadata"]["namespace"] == "longshore-workload-x-0-shop"
    (written,) = body["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert written["namespaces"] == ["longshore-workload-x-0-shop", "longshore-workload-x-0"]


def test_priorities_are_given_by_a_class_of_the_workload() -> None:
    word = replace(APP.pod(0), priority=100)
    spec = objects.pod(GROUND, word)["spec"]
    assert "priority" not in spec
    made = objects.priority_class(GROUND, 100)
    assert spec["priorityClassName"] == made["metadata"]["name"]
    assert made["value"] == 100


def test_a_deployment_leaves_the_hash_to_the_cluster() -> None:
    body = objects.deployment(GROUND, "web", APP.pod(0), APP.controller, 3)
    assert body["spec"]["replicas"] == 3
    assert body["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    labels = body["spec"]["template"]["metadata"]["labels"]
    assert HASH_LABEL not in labels
    assert labels["app"] == "web"
    assert body["spec"]["template"]["metadata"]["annotations"]["longshore.dev/latency-hard-limit-ms"] == "30"
    assert body["metadata"]["labels"] == {MANAGED_BY: WORKLOAD}


def test_equal_deployments_have_equal_templates() -> None:
    one, other = (objects.deployment(GROUND, name, APP.pod(0), APP.controller, 1) for name in ("a", "b"))
    assert one["spec"] == other["spec"]


def test_a_node_keeps_what_scheduling_reads_and_is_kwok_s() -> None:
    word = make_node("worker-0", cpu=8, memory_mib=1024, latency_ms=12.0, watts=(50.0, 90.0), cost_per_hour=2.0)
    ground = replace(GROUND, nodes={"worker-0": "workload-worker-0"})
    body = objects.node(ground, word)
    read = convert.node(msgspec.convert(body, wire.Node, strict=False))
    assert read.name == "workload-worker-0"
    assert dict(read.labels)["kubernetes.io/hostname"] == "workload-worker-0"
    assert dict(read.labels)[objects.RUN_LABEL] == GROUND.namespace
    assert read.allocatable == word.allocatable
    assert (read.readings, read.power, read.cost_per_hour) == (word.readings, word.power, word.cost_per_hour)
    assert dict(read.annotations)["kwok.x-k8s.io/node"] == "fake"


def test_pods_select_the_workload_s_nodes_where_there_are_others() -> None:
    spec = objects.pod(replace(GROUND, selects_nodes=True), APP.pod(0))["spec"]
    assert spec["nodeSelector"] == {objects.RUN_LABEL: GROUND.namespace}


def test_a_service_has_a_selector_and_no_address() -> None:
    body = objects.service(GROUND, Service("default", "web", (("app", "web"),)))
    assert body["spec"] == {"clusterIP": "None", "selector": {"app": "web"}}


def test_a_namespace_keeps_its_labels() -> None:
    word = Namespace("shop", (("kubernetes.io/metadata.name", "shop"), ("team", "a")))
    assert objects.namespace(GROUND, word)["metadata"] == {
        "name": "longshore-workload-x-0-shop",
        "labels": {"team": "a", MANAGED_BY: WORKLOAD},
    }
