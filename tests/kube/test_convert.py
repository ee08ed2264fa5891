"""Tests of the conversion: every field that scheduling reads, from JSON as kubectl prints it, and every refusal."""

import json
from typing import Any

import msgspec
import pytest

from longshore.core.words.errors import ObjectError
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.node import Image, Node, NodePower, Taint
from longshore.core.words.pod import (
    AffinityTerm,
    Container,
    GpuRequest,
    HostPort,
    NodePreference,
    NodeSelectorTerm,
    Owner,
    Pod,
    SpreadConstraint,
    Toleration,
    Volume,
    WeightedAffinityTerm,
)
from longshore.kube import convert, wire

MILLI, UNIT = 10**6, 10**9
GIB = 2**30

NODE_TEXT = b"""{
  "apiVersion": "v1", "kind": "Node",
  "metadata": {"name": "worker-1", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"topology.kubernetes.io/zone": "b", "kubernetes.io/hostname": "worker-1"},
    "annotations": {"longshore.dev/gpu-count": "8", "longshore.dev/gpu-model": "A100",
      "longshore.dev/latency-ms": "2.5", "longshore.dev/zone-latency-ms": "b=0.4, a=1.8",
      "longshore.dev/watts": "90,160,210", "longshore.dev/cost-per-hour": "0.75",
      "longshore.dev/carbon-grams-per-kwh": "35"}},
  "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true,
    "taints": [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"},
      {"key": "wear", "effect": "PreferNoSchedule"}]},
  "status": {
    "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
    "allocatable": {"cpu": "7900m", "memory": "31Gi", "pods": "110", "example.com/dongle": "2"},
    "images": [{"names": ["a@sha256:1", "a:1"], "sizeBytes": 1048576}]}}"""

POD_TEXT = b"""{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "web-1", "namespace": "shop", "uid": "u2", "labels": {"app": "web", "version": "7"},
    "annotations": {"latencySoftConstraint": "20", "latencyHardConstraint": "50.5"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "x"},
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true}]},
  "spec": {
    "schedulerName": "longshore", "priority": 1000, "nodeSelector": {"disk": "ssd"},
    "schedulingGates": [{"name": "quota"}],
    "overhead": {"cpu": "10m"},
    "resources": {"requests": {"memory": "3Gi"}},
    "containers": [{"name": "main", "image": "web:7",
      "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
      "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 53, "hostPort": 53, "protocol": "UDP",
        "hostIP": "10.0.0.1"}, {"containerPort": 9090}]}],
    "initContainers": [{"name": "proxy", "image": "proxy", "restartPolicy": "Always"},
      {"name": "setup", "image": "tool"}],
    "tolerations": [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}, {"operator": "Exists"}],
    "affinity": {
      "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference":
          {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-1"]}]}}]},
      "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": {"topologyKey": "rack"}}]},
      "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host", "namespaces": ["shop"]}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 6, "podAffinityTerm": {"topologyKey": "row"}}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
      "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["version"]}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-1"}}, {"name": "model", "image":
      {"reference": "model:2"}}, {"name": "scratch", "emptyDir": {}}, {"name": "empty"}]},
  "status": {"phase": "Pending"}}"""


def read_node(**changes: Any) -> Node:
    return convert.node(msgspec.convert({"metadata": {"name": "a"}} | changes, type=wire.Node))


def read_pod(*, is_incoming: bool = False, **changes: Any) -> Pod:
    source = {"metadata": {"name": "p"}} | changes
    return convert.pod(msgspec.json.decode(json.dumps(source), type=wire.Pod), is_incoming=is_incoming)


@pytest.fixture(scope="module")
def node() -> Node:
    return convert.node(msgspec.json.decode(NODE_TEXT, type=wire.Node))


@pytest.fixture(scope="module")
def pod() -> Pod:
    return convert.pod(msgspec.json.decode(POD_TEXT, type=wire.Pod))


NODE_FIELDS = {
    "name": "worker-1",
    "labels": (("kubernetes.io/hostname", "worker-1"), ("topology.kubernetes.io/zone", "b")),
    "taints": (Taint("dedicated", "ml", "NoSchedule"), Taint("wear", "", "PreferNoSchedule")),
    "is_unschedulable": True,
    "capacity": (("cpu", 8 * UNIT), ("memory", 32 * GIB * UNIT), ("pods", 110 * UNIT)),
    "allocatable": (
        ("cpu", 7900 * MILLI),
        ("example.com/dongle", 2 * UNIT),
        ("memory", 31 * GIB * UNIT),
        ("pods", 110 * UNIT),
    ),
    "images": (Image(("a@sha256:1", "a:1"), 1048576),),
    "gpu_count": 8,
    "gpu_model": "A100",
    "power": NodePower((90.0, 160.0, 210.0)),
    "cost_per_hour": 0.75,
    "carbon_grams_per_kwh": 35.0,
}

SPEC_FIELDS = {
    "namespace": "shop",
    "labels": (("app", "web"), ("version", "7")),
    "containers": (
        Container(
            "web:7",
            (("cpu", 500 * MILLI), ("memory", GIB * UNIT)),
            (("cpu", UNIT),),
            (HostPort(8080), HostPort(53, "UDP", "10.0.0.1")),
        ),
    ),
    "init_containers": (Container("proxy", is_sidecar=True), Container("tool")),
    "overhead": (("cpu", 10 * MILLI),),
    "pod_requests": (("memory", 3 * GIB * UNIT),),
    "tolerations": (Toleration("dedicated", "Equal", "ml", "NoSchedule"), Toleration("", "Exists")),
    "node_selector": (("disk", "ssd"),),
    "node_affinity": (NodeSelectorTerm((Requirement("cores", "Gt", ("4",)),)),),
    "node_preferences": (
        NodePreference(3, NodeSelectorTerm((), (Requirement("metadata.name", "In", ("worker-1",)),))),
    ),
    "affinity": (AffinityTerm("zone", Selector()),),
    "anti_affinity": (AffinityTerm("host", None, ("shop",)),),
    "preferred_affinity": (WeightedAffinityTerm(5, AffinityTerm("rack", None)),),
    "preferred_anti_affinity": (WeightedAffinityTerm(6, AffinityTerm("row", None)),),
    "spread": (SpreadConstraint(1, "zone", True, Selector().extended({"app": "web"}).extended({"version": "7"})),),
    "owner": Owner("apps/v1", "ReplicaSet", "web"),
    "volumes": (
        Volume("persistentVolumeClaim", "data-1"),
        Volume("image", "model:2"),
        Volume("emptyDir"),
        Volume("emptyDir"),
    ),
    "gpu": None,
    "latency_soft_ms": 20.0,
    "latency_hard_ms": 50.5,
    "is_terminating": False,
}


@pytest.mark.parametrize("field", NODE_FIELDS)
def test_every_field_of_a_node_is_read(node: Node, field: str) -> None:
    assert getattr(node, field) == NODE_FIELDS[field]


def test_a_nodes_latency_annotation_is_a_reading(node: Node) -> None:
    assert node.readings.latency_ms == 2.5
    assert read_node().readings.latency_ms is None


def test_a_nodes_latencies_to_zones_are_a_reading(node: Node) -> None:
    assert node.readings.zone_latency_ms == (("a", 1.8), ("b", 0.4))
    assert read_node().readings.zone_latency_ms == ()


def test_what_a_node_does_not_say_is_assumed_by_its_size_and_told() -> None:
    plain = read_node(status={"allocatable": {"cpu": "2", "memory": "8Gi"}})
    assert (plain.gpu_count, plain.gpu_model, plain.power) == (0, "", NodePower((1.5, 7.5)))
    assert (plain.cost_per_hour, plain.carbon_grams_per_kwh) == (pytest.approx(0.092), 400.0)
    assert plain.assumed == ("carbon", "power", "price")
    assert read_node().power == NodePower((0.0, 0.0))


def test_what_a_node_says_is_not_assumed() -> None:
    told = read_node(metadata={"name": "a", "annotations": {"longshore.dev/watts": "90,200"}})
    assert (told.power, told.assumed) == (NodePower((90.0, 200.0)), ("carbon", "price"))


def test_a_nodes_price_may_be_nothing() -> None:
    notes = {"longshore.dev/cost-per-hour": "0", "longshore.dev/carbon-grams-per-kwh": "0"}
    free = read_node(metadata={"name": "a", "annotations": notes})
    assert (free.cost_per_hour, free.carbon_grams_per_kwh) == (0.0, 0.0)


def test_a_nodes_gpu_model_may_be_a_label() -> None:
    labelled = read_node(metadata={"name": "a", "labels": {"longshore.dev/gpu-model": "T4"}})
    assert labelled.gpu_model == "T4"


@pytest.mark.parametrize("field", SPEC_FIELDS)
def test_every_field_of_a_pods_spec_is_read(pod: Pod, field: str) -> None:
    assert getattr(pod.spec, field) == SPEC_FIELDS[field]


def test_what_is_not_a_pods_class_is_read_beside_it(pod: Pod) -> None:
    assert (pod.name, pod.uid, pod.priority, pod.scheduler_name) == ("web-1", "u2", 1000, "longshore")
    assert pod.scheduling_gates == ("quota",)
    assert pod.annotations == (("latencyHardConstraint", "50.5"), ("latencySoftConstraint", "20"))
    assert (pod.bound_to, pod.gpu_devices, pod.unmodelled) == ("", None, ())


def test_an_empty_pod_has_kubernetes_defaults() -> None:
    plain = read_pod()
    assert (plain.key, plain.scheduler_name, plain.priority) == ("default/p", "default-scheduler", 0)
    assert plain.spec.node_affinity is None
    assert plain.spec.node_preferences is None


def test_a_bound_pods_node_is_its_place_and_not_its_class() -> None:
    bound = read_pod(spec={"nodeName": "a"})
    assert (bound.bound_to, bound.spec.node_name) == ("a", "")


def test_an_incoming_pod_that_names_a_node_still_waits() -> None:
    waiting = read_pod(spec={"nodeName": "a"}, is_incoming=True)
    assert (waiting.bound_to, waiting.spec.node_name) == ("", "a")


def test_a_pod_that_is_being_deleted_is_terminating() -> None:
    assert read_pod(metadata={"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}).spec.is_terminating


def test_a_static_pods_mirror_belongs_to_its_node() -> None:
    mirror = read_pod(
        metadata={"name": "p", "annotations": {"kubernetes.io/config.mirror": "d41d8cd9"}}, spec={"nodeName": "a"}
    )
    assert mirror.spec.owner == Owner("v1", "Node", "a")
    assert not mirror.spec.keeps_node_on


def test_an_owner_that_does_not_control_is_no_owner() -> None:
    reference = {"apiVersion": "v1", "kind": "Node", "name": "x", "controller": False}
    assert read_pod(metadata={"name": "p", "ownerReferences": [reference]}).spec.owner is None


@pytest.mark.parametrize(
    ("quantity", "want_nanos"),
    [
        pytest.param("100m", 100 * MILLI, id="milli"),
        pytest.param(2, 2 * UNIT, id="a whole number"),
        pytest.param(0.5, UNIT // 2, id="a fraction"),
        pytest.param("1e3", 1000 * UNIT, id="an exponent"),
        pytest.param(f"{(2**63 - 1) // 100}m", (2**63 - 1) // 100 * MILLI, id="the most"),
        pytest.param("0", 0, id="zero"),
    ],
)
def test_quantities_are_text_or_numbers(quantity: str | float, want_nanos: int) -> None:
    assert read_node(status={"allocatable": {"cpu": quantity}}).allocatable == (("cpu", want_nanos),)


@pytest.mark.parametrize(
    ("notes", "want_gpu"),
    [
        pytest.param({"count": "2"}, GpuRequest(2, 1000), id="whole devices"),
        pytest.param({"milli": "300"}, GpuRequest(1, 300), id="a share of one"),
        pytest.param({"count": "1", "milli": "300"}, GpuRequest(1, 300), id="a share, with the count written out"),
        pytest.param({"count": "4", "milli": "1000"}, GpuRequest(4, 1000), id="whole ones, with the milli written out"),
        pytest.param({"count": "1", "model": "T4|A100"}, GpuRequest(1, 1000, ("A100", "T4")), id="one of two models"),
        pytest.param({"count": "1", "model": "|"}, GpuRequest(1, 1000), id="no model in the list"),
        pytest.param({}, None, id="none"),
    ],
)
def test_gpu_annotations_of_a_pod(notes: dict[str, str], want_gpu: GpuRequest | None) -> None:
    annotations = {f"longshore.dev/gpu-{key}": value for key, value in notes.items()}
    assert read_pod(metadata={"name": "p", "annotations": annotations}).spec.gpu == want_gpu


@pytest.mark.parametrize(
    ("notes", "want"),
    [
        ({"latencySoftConstraint": "20", "latencyHardConstraint": "30"}, (20.0, 30.0)),
        ({"longshore.dev/latency-soft-limit-ms": "5", "latencySoftConstraint": "20"}, (5.0, None)),
        ({"latencyHardConstraint": "30", "longshore.dev/latency-hard-limit-ms": "7"}, (None, 7.0)),
    ],
)
def test_a_limits_name_with_our_prefix_wins_over_the_one_of_the_thesis(
    notes: dict[str, str], want: tuple[float | None, float | None]
) -> None:
    spec = read_pod(metadata={"name": "p", "annotations": notes}).spec
    assert (spec.latency_soft_ms, spec.latency_hard_ms) == want


def test_a_bound_pod_says_which_devices_it_holds() -> None:
    assert read_pod(metadata={"name": "p", "annotations": {"longshore.dev/gpu-devices": "0,3"}}).gpu_devices == (0, 3)


BAD_NODES = [
    pytest.param(
        {"status": {"allocatable": {"cpu": "4 cores"}}},
        "status.allocatable.cpu",
        "`4 cores` is not a quantity",
        id="a bad quantity",
    ),
    pytest.param(
        {"status": {"capacity": {"memory": "-1"}}},
        "status.capacity.memory",
        "`-1` is negative",
        id="a negative quantity",
    ),
    pytest.param(
        {"status": {"allocatable": {"memory": 1e22}}},
        "status.allocatable.memory",
        "`1e+22` is more than `92233720368547758`, the most that can be counted",
        id="more than int64 holds",
    ),
    pytest.param(
        {"status": {"allocatable": {"cpu": "92233720368547759m"}}},
        "status.allocatable.cpu",
        "`92233720368547759m` is more than `92233720368547758m`, the most that can be counted",
        id="CPU whose score would wrap",
    ),
    pytest.param(
        {"status": {"allocatable": {"cpu": "9" * 5000}}},
        "status.allocatable.cpu",
        f"`{'9' * 5000}` is not a quantity",
        id="a number that Python would not read",
    ),
]
BAD_NODE_NOTES = [
    ("gpu-count", "many", "`many` is not a whole number from 0 to 64"),
    ("gpu-count", "-1", "`-1` is not a whole number from 0 to 64"),
    ("gpu-count", "65", "`65` is not a whole number from 0 to 64"),
    ("gpu-count", "9" * 5000, f"`{'9' * 5000}` is not a whole number from 0 to 64"),
    ("latency-ms", "fast", "`fast` is not a number from 0 to 1000000000"),
    ("latency-ms", "-1", "`-1` is not a number from 0 to 1000000000"),
    ("latency-ms", "nan", "`nan` is not a number from 0 to 1000000000"),
    ("latency-ms", "inf", "`inf` is not a number from 0 to 1000000000"),
    ("latency-ms", "1_000", "`1_000` is not a number from 0 to 1000000000"),
    ("latency-ms", "", "`` is not a number from 0 to 1000000000"),
    ("zone-latency-ms", "", "`` is not a list of zones, each once, such as `zone-a=0.4,zone-b=1.8`"),
    ("zone-latency-ms", "1.8", "`1.8` is not a list of zones, each once, such as `zone-a=0.4,zone-b=1.8`"),
    ("zone-latency-ms", "a=1,=2", "`a=1,=2` is not a list of zones, each once, such as `zone-a=0.4,zone-b=1.8`"),
    ("zone-latency-ms", "a=1,a=2", "`a=1,a=2` is not a list of zones, each once, such as `zone-a=0.4,zone-b=1.8`"),
    ("zone-latency-ms", "a=1,b=-2", "`-2` is not a number from 0 to 1000000000"),
    ("zone-latency-ms", "a=1=2", "`1=2` is not a number from 0 to 1000000000"),
    ("cost-per-hour", "free", "`free` is not a number from 0 to 1000000000"),
    ("carbon-grams-per-kwh", "-3", "`-3` is not a number from 0 to 1000000000"),
    ("latency-ms", "1e308", "`1e308` is not a number from 0 to 1000000000"),
    ("cost-per-hour", "1000000001", "`1000000001` is not a number from 0 to 1000000000"),
    ("carbon-grams-per-kwh", "1e10", "`1e10` is not a number from 0 to 1000000000"),
    ("watts", "90", "needs 2 to 1001 values, idle first and full last; got 1"),
    ("watts", ",".join("1" * 1002), "needs 2 to 1001 values, idle first and full last; got 1002"),
    ("watts", "90,1e308", "`1e308` is not a number from 0 to 1000000000"),
    ("watts", "90,x", "`x` is not a number from 0 to 1000000000"),
]
BAD_POD_NOTES = [
    ("longshore.dev/gpu-count", "0", "`0` is not a whole number from 1 to 64"),
    ("longshore.dev/gpu-model", "T4", "needs `longshore.dev/gpu-count` or `longshore.dev/gpu-milli` beside it"),
    ("longshore.dev/gpu-count", "1.5", "`1.5` is not a whole number from 1 to 64"),
    ("longshore.dev/gpu-milli", "1001", "`1001` is not a whole number from 1 to 1000"),
    ("longshore.dev/gpu-milli", "٣", "`٣` is not a whole number from 1 to 1000"),
    ("longshore.dev/gpu-devices", "0,", "`0,` is not a list of device numbers such as `0,1`"),
    ("longshore.dev/gpu-devices", "all", "`all` is not a list of device numbers such as `0,1`"),
    ("longshore.dev/gpu-devices", "9" * 5000, f"`{'9' * 5000}` is not a list of device numbers such as `0,1`"),
    ("latencySoftConstraint", "20ms", "`20ms` is not a number from 0 to 1000000000"),
    ("latencyHardConstraint", "1e10", "`1e10` is not a number from 0 to 1000000000"),
    ("latencyHardConstraint", "-0.1", "`-0.1` is not a number from 0 to 1000000000"),
]


@pytest.mark.parametrize(("changes", "want_field", "want_reason"), BAD_NODES)
def test_bad_nodes_are_refused_with_field_and_reason(
    changes: dict[str, Any], want_field: str, want_reason: str
) -> None:
    with pytest.raises(ObjectError) as caught:
        read_node(**changes)
    error = caught.value
    assert (error.kind, error.name, error.field, error.reason) == ("Node", "a", want_field, want_reason)


def test_a_bad_quantity_comes_with_the_hint_of_the_parser() -> None:
    with pytest.raises(ObjectError) as caught:
        read_node(status={"allocatable": {"cpu": "four"}})
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("a quantity is a number with an optional suffix")


@pytest.mark.parametrize(("key", "text", "want_reason"), BAD_NODE_NOTES, ids=lambda value: value[:20])
def test_bad_annotations_of_a_node_are_refused(key: str, text: str, want_reason: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_node(metadata={"name": "a", "annotations": {f"longshore.dev/{key}": text}})
    assert caught.value.field == f"metadata.annotations[longshore.dev/{key}]"
    assert (caught.value.name, caught.value.reason) == ("a", want_reason)


@pytest.mark.parametrize(("key", "text", "want_reason"), BAD_POD_NOTES, ids=lambda value: value[:20])
def test_bad_annotations_of_a_pod_are_refused(key: str, text: str, want_reason: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_pod(metadata={"name": "p", "annotations": {key: text}})
    assert caught.value.field == f"metadata.annotations[{key}]"
    assert (caught.value.kind, caught.value.name, caught.value.reason) == ("Pod", "default/p", want_reason)


def test_a_share_of_several_devices_is_refused() -> None:
    notes = {"longshore.dev/gpu-count": "2", "longshore.dev/gpu-milli": "500"}
    with pytest.raises(ObjectError, match="a share is of one device only"):
        read_pod(metadata={"name": "p", "annotations": notes})


BAD_EXPRESSION = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}
REQUIRED, PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))


@pytest.mark.parametrize(
    ("spec", "want_field", "want_reason"),
    [
        pytest.param(
            {"containers": [{}, {"resources": {"requests": {"cpu": "x"}}}]},
            "spec.containers[1].resources.requests.cpu",
            "`x` is not a quantity",
            id="a request of the second container",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"memory": "-1Gi"}}}]},
            "spec.containers[0].resources.limits.memory",
            "`-1Gi` is negative",
            id="a negative limit",
        ),
        pytest.param(
            {"initContainers": [{"resources": {"requests": {"cpu": "x"}}}]},
            "spec.initContainers[0].resources.requests.cpu",
            "`x` is not a quantity",
            id="an init container",
        ),
        pytest.param({"overhead": {"cpu": "x"}}, "spec.overhead.cpu", "`x` is not a quantity", id="overhead"),
        pytest.param(
            {"resources": {"requests": {"cpu": "x"}}},
            "spec.resources.requests.cpu",
            "`x` is not a quantity",
            id="pod-level requests",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {REQUIRED: [BAD_EXPRESSION]}}},
            "spec.affinity.podAffinity",
            "operator `Like` for key `a`",
            id="pod affinity",
        ),
        pytest.param(
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": BAD_EXPRESSION}]}}},
            "spec.affinity.podAntiAffinity",
            "operator `Like` for key `a`",
            id="preferred anti-affinity",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt"}]}]}
                    }
                }
            },
            "spec.affinity.nodeAffinity",
            "operator `Gt` for key `a` needs exactly one value",
            id="a comparison without a value",
        ),
        pytest.param(
            {"topologySpreadConstraints": [BAD_EXPRESSION]},
            "spec.topologySpreadConstraints",
            "operator `Like` for key `a`",
            id="spreading",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": 7}}]},
            "spec.volumes.persistentVolumeClaim",
            "Expected `str`, got `int`",
            id="a claim's name",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "image": []}]},
            "spec.volumes.image",
            "Expected `object`, got `array`",
            id="an image that is a list",
        ),
    ],
)
def test_bad_pods_are_refused_with_field_and_reason(spec: dict[str, Any], want_field: str, want_reason: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_pod(spec=spec)
    error = caught.value
    assert (error.kind, error.name, error.field) == ("Pod", "default/p", want_field)
    assert error.reason.startswith(want_reason)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"claimName": "\xff"}', id="bytes that are no text"),
        pytest.param(b"[" * 100_000, id="nesting without end"),
        pytest.param(b'{"claimName": ', id="cut off"),
    ],
)
def test_a_volume_that_cannot_be_read_is_refused(raw: bytes) -> None:
    source = wire.Pod(wire.ObjectMeta(name="p"), wire.PodSpec(volumes=[{"persistentVolumeClaim": msgspec.Raw(raw)}]))
    with pytest.raises(ObjectError, match=r"Pod `default/p`: field `spec\.volumes\.persistentVolumeClaim`"):
        convert.pod(source)


GOOD_TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
BAD_TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "no label!"}}}
BAD_NAMESPACES = {**GOOD_TERM, "namespaceSelector": {"matchLabels": {"team": "no label!"}}}
AFFINITY = {
    "podAffinity": {
        REQUIRED: [GOOD_TERM, BAD_TERM],
        PREFERRED: [{"weight": 1, "podAffinityTerm": GOOD_TERM}],
    },
    "podAntiAffinity": {
        REQUIRED: [GOOD_TERM],
        PREFERRED: [{"weight": 1, "podAffinityTerm": term} for term in (GOOD_TERM, BAD_NAMESPACES)],
    },
}


def test_a_running_pods_terms_are_forgotten_kind_by_kind_where_upstream_cannot_read_one() -> None:
    spec = read_pod(spec={"nodeName": "a", "affinity": AFFINITY}).spec
    assert (spec.affinity, spec.preferred_anti_affinity) == ((), ())
    assert (len(spec.anti_affinity), len(spec.preferred_affinity)) == (1, 1)


def test_a_waiting_pods_terms_are_kept_even_if_upstream_cannot_read_one() -> None:
    spec = read_pod(spec={"affinity": AFFINITY}).spec
    assert (len(spec.affinity), len(spec.preferred_anti_affinity)) == (2, 2)


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"resourceClaims": [{"name": "gpu"}]}, ("spec.resourceClaims",), id="resource claims"),
        pytest.param({"resourceClaims": []}, (), id="no resource claims"),
        pytest.param(
            {"hostUsers": False, "hostNetwork": True}, ("spec.hostUsers",), id="own users on the host's network"
        ),
        pytest.param({"hostUsers": False}, (), id="own users"),
        pytest.param({"hostUsers": True, "hostNetwork": True}, (), id="the host's users and network"),
        pytest.param(
            {"containers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            ("spec.containers[*].restartPolicyRules",),
            id="a container that restarts all",
        ),
        pytest.param(
            {"initContainers": [{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            ("spec.containers[*].restartPolicyRules",),
            id="an init container that restarts all",
        ),
        pytest.param(
            {"containers": [{"restartPolicyRules": [{"action": "Restart"}]}]}, (), id="one that restarts itself"
        ),
    ],
)
def test_fields_that_no_filter_reads_are_reported(spec: dict[str, Any], want: tuple[str, ...]) -> None:
    assert read_pod(spec=spec).unmodelled == want
