"""Tests of reading dumps: what is kept, what is passed over and counted, and that a bad dump gives nothing at all."""

import json
from typing import Any

import pytest

from longshore.core.words.errors import InputError, ObjectError
from longshore.core.words.labels import Requirement, Selector
from longshore.core.words.snapshot import (
    Controller,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Service,
    Snapshot,
    VolumeLimit,
)
from longshore.kube.dump import DUMP_COMMAND, NO_NODES, Import, read_dump, split_dump, write_dump


def thing(kind: str, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {}) | parts.pop("metadata", {})
    return {"apiVersion": parts.pop("apiVersion", "v1"), "kind": kind, "metadata": metadata, **parts}


def read(*items: Any) -> Import:
    return read_dump(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}).encode())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"kind": "List", "items": []}', id="an empty list"),
        pytest.param(b'{"kind": "List", "items": null}', id="no items"),
        pytest.param(b'{"kind": "List"}', id="a list that does not mention items"),
        pytest.param(b'{"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": null}', id="a list of nodes"),
    ],
)
def test_an_empty_list_is_an_empty_cluster_with_a_note(data: bytes) -> None:
    assert read_dump(data) == Import(Snapshot(), {}, (NO_NODES,))


def test_a_dump_with_a_node_needs_no_note() -> None:
    assert read(thing("Node", "a")).notes == ()
    assert read(thing("Pod", "p")).notes == ("no nodes in the dump",)


def test_lists_in_lists_are_read_in_order() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [thing("Node", "b"), {"kind": "List", "items": None}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner, thing("Node", "c")]}
    got = read(thing("Node", "a"), outer, thing("Node", "d"))
    assert [node.name for node in got.snapshot.nodes] == ["a", "b", "c", "d"]
    assert got.skipped == {}


def test_a_list_in_a_list_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="is not a Kubernetes object in JSON"):
        read(thing("Node", "a"), {"kind": "List", "items": {}})


@pytest.mark.parametrize(
    ("kind", "version", "field"),
    [
        ("Node", "v1", "nodes"),
        ("Pod", "v1", "pods"),
        ("PersistentVolumeClaim", "v1", "claims"),
        ("ReplicaSet", "apps/v1", "controllers"),
    ],
)
def test_items_of_a_typed_list_have_the_lists_kind(kind: str, version: str, field: str) -> None:
    items = b'{ "metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": {}}'
    data = f'{{"kind": "{kind}List", "apiVersion": "{version}", "items": ['.encode() + items + b"]}"
    got = read_dump(data)
    assert [word.name for word in getattr(got.snapshot, field)] == ["a", "b"]
    assert read_dump(write_dump(split_dump(data))) == got


def test_an_empty_item_of_a_typed_list_is_refused_by_its_kind() -> None:
    with pytest.raises(ObjectError, match=r"Node `item 0`: field `metadata\.name`: is missing"):
        read_dump(b'{"kind": "NodeList", "apiVersion": "v1", "items": [{}]}')


def test_an_object_with_a_name_is_no_list_whatever_its_kind_is_called() -> None:
    item = thing("AccessList", "x", "shop", apiVersion="example.com/v1", items=["1.2.3.4"])
    assert read(item).skipped == {"AccessList (example.com)": 1}


def test_a_list_of_one_is_read() -> None:
    assert [node.name for node in read(thing("Node", "a")).snapshot.nodes] == ["a"]


def test_a_single_object_is_read_as_it_is() -> None:
    snapshot = read_dump(json.dumps(thing("Pod", "p", "shop", spec={"nodeName": "a"})).encode()).snapshot
    assert [(pod.key, pod.bound_to) for pod in snapshot.pods] == [("shop/p", "a")]


def test_objects_keep_the_order_of_the_dump() -> None:
    snapshot = read(thing("Node", "b"), thing("Pod", "q"), thing("Node", "a"), thing("Pod", "p")).snapshot
    assert [node.name for node in snapshot.nodes] == ["b", "a"]
    assert [pod.name for pod in snapshot.pods] == ["q", "p"]


def test_pods_of_one_name_may_be_in_two_namespaces() -> None:
    snapshot = read(thing("Pod", "p", "x"), thing("Pod", "p", "y")).snapshot
    assert [pod.key for pod in snapshot.pods] == ["x/p", "y/p"]


SELECTOR = Selector((Requirement("app", "In", ("web",)),))
MATCH = {"matchLabels": {"app": "web"}}
RELATED = [
    pytest.param(
        thing("Namespace", "shop", metadata={"labels": {"team": "a"}}),
        "namespaces",
        Namespace("shop", (("team", "a"),)),
        id="a namespace with labels",
    ),
    pytest.param(thing("Namespace", "shop"), "namespaces", Namespace("shop"), id="a namespace"),
    pytest.param(
        thing("Service", "s", "shop", spec={"selector": {"app": "web"}}),
        "services",
        Service("shop", "s", (("app", "web"),)),
        id="a service",
    ),
    pytest.param(
        thing("Service", "s", "shop", spec={}),
        "services",
        Service("shop", "s", None),
        id="a service that selects nothing",
    ),
    pytest.param(
        thing("Service", "s", "shop", spec={"selector": {}}),
        "services",
        Service("shop", "s", ()),
        id="a service with an empty selector",
    ),
    pytest.param(
        thing("ReplicaSet", "r", "shop", apiVersion="apps/v1", spec={"selector": MATCH}),
        "controllers",
        Controller("apps/v1", "ReplicaSet", "shop", "r", SELECTOR),
        id="a ReplicaSet",
    ),
    pytest.param(
        thing("StatefulSet", "r", "shop", apiVersion="apps/v1", spec={"selector": MATCH}),
        "controllers",
        Controller("apps/v1", "StatefulSet", "shop", "r", SELECTOR),
        id="a StatefulSet",
    ),
    pytest.param(
        thing("ReplicationController", "r", "shop", spec={"selector": {"app": "web"}}),
        "controllers",
        Controller("v1", "ReplicationController", "shop", "r", SELECTOR),
        id="a ReplicationController, whose selector is a plain map",
    ),
    pytest.param(
        thing("ReplicationController", "r", "shop", spec={}),
        "controllers",
        Controller("v1", "ReplicationController", "shop", "r", None),
        id="a ReplicationController without a selector",
    ),
    pytest.param(
        thing("PersistentVolume", "v", metadata={"labels": {"topology.kubernetes.io/zone": "b"}}, spec={}),
        "volumes",
        PersistentVolume("v", (("topology.kubernetes.io/zone", "b"),)),
        id="a volume in a zone",
    ),
    pytest.param(
        thing("PersistentVolume", "v", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}),
        "volumes",
        PersistentVolume("v", (), node_affinity=()),
        id="a volume of some nodes",
    ),
    pytest.param(
        thing("PersistentVolume", "v", spec={"csi": {"driver": "disk.example.com", "volumeHandle": "1"}}),
        "volumes",
        PersistentVolume("v", (), is_csi=True, csi_driver="disk.example.com"),
        id="a volume that a driver attaches",
    ),
    pytest.param(
        thing("PersistentVolume", "v", spec={"awsElasticBlockStore": {"volumeID": "vol-1"}}),
        "volumes",
        PersistentVolume("v", (), is_csi=True, csi_driver="ebs.csi.aws.com"),
        id="a volume of a driver that was part of Kubernetes",
    ),
    pytest.param(
        thing(
            "CSINode",
            "a",
            apiVersion="storage.k8s.io/v1",
            spec={"drivers": [{"name": "x", "allocatable": {"count": 25}}, {"name": "y", "allocatable": {}}, {}]},
        ),
        "volume_limits",
        VolumeLimit("a", "x", 25),
        id="how many volumes a node takes",
    ),
    pytest.param(
        thing(
            "PersistentVolumeClaim",
            "c",
            "shop",
            metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            spec={"volumeName": "v", "accessModes": ["ReadWriteOncePod"]},
            status={"phase": "Bound"},
        ),
        "claims",
        PersistentVolumeClaim("shop", "c", "v", ("ReadWriteOncePod",)),
        id="a bound claim",
    ),
    pytest.param(
        thing("PersistentVolumeClaim", "c", "shop", spec={"volumeName": "v"}),
        "claims",
        PersistentVolumeClaim("shop", "c", "v", is_half_bound=True),
        id="a claim whose binding is not completed",
    ),
    pytest.param(
        thing("PersistentVolumeClaim", "c", "shop", spec={}, status={"phase": "Lost"}),
        "claims",
        PersistentVolumeClaim("shop", "c", is_lost=True),
        id="a claim that lost its volume",
    ),
    pytest.param(
        thing("PersistentVolumeClaim", "c", "shop", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        "claims",
        PersistentVolumeClaim("shop", "c", is_being_deleted=True),
        id="a claim that is being deleted",
    ),
    pytest.param(
        thing(
            "StatefulSet", "r", "shop", apiVersion="apps/v1", spec={"selector": {"matchLabels": {"app": "no label!"}}}
        ),
        "controllers",
        Controller("apps/v1", "StatefulSet", "shop", "r", None),
        id="a selector that upstream cannot read, and passes over",
    ),
    pytest.param(
        {"kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": {"selector": MATCH}},
        "controllers",
        Controller("apps/v1", "ReplicaSet", "default", "r", SELECTOR),
        id="a ReplicaSet written by hand, without version and namespace",
    ),
    pytest.param(thing("Service", "s"), "services", Service("default", "s"), id="a service without a namespace"),
    pytest.param(
        thing("PersistentVolumeClaim", "c"),
        "claims",
        PersistentVolumeClaim("default", "c"),
        id="a claim without a namespace",
    ),
    pytest.param(
        thing("Namespace", "shop", "odd"), "namespaces", Namespace("shop"), id="a namespace is in no namespace"
    ),
    pytest.param(
        thing("PersistentVolumeClaim", "c", "shop", spec={}),
        "claims",
        PersistentVolumeClaim("shop", "c"),
        id="an unbound claim",
    ),
]


@pytest.mark.parametrize(("item", "field", "want"), RELATED)
def test_what_constraints_refer_to_is_read(item: dict[str, Any], field: str, want: object) -> None:
    assert getattr(read(item).snapshot, field) == (want,)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_are_passed_over_and_counted(phase: str) -> None:
    got = read(thing("Pod", "done", status={"phase": phase}), thing("Pod", "p", status={"phase": "Running"}))
    assert [pod.name for pod in got.snapshot.pods] == ["p"]
    assert got.skipped == {"Pod (finished)": 1}


def test_a_finished_pod_is_not_converted() -> None:
    bad = {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}
    assert read(thing("Pod", "done", spec=bad, status={"phase": "Failed"})).skipped == {"Pod (finished)": 1}


def test_a_finished_pod_may_have_the_name_of_a_running_one() -> None:
    assert len(read(thing("Pod", "p", status={"phase": "Failed"}), thing("Pod", "p")).snapshot.pods) == 1


def test_unknown_kinds_are_passed_over_and_counted() -> None:
    got = read(thing("ConfigMap", "x"), thing("ConfigMap", "y"), thing("Secret", "z"), {"metadata": {}})
    assert got.snapshot == Snapshot()
    assert got.skipped == {"ConfigMap": 2, "Secret": 1, "object without a kind": 1}


@pytest.mark.parametrize(
    ("kind", "version", "want"),
    [
        ("Service", "serving.knative.dev/v1", "Service (serving.knative.dev)"),
        ("Node", "longhorn.io/v1beta2", "Node (longhorn.io)"),
        ("Pod", "metrics.k8s.io/v1beta1", "Pod (metrics.k8s.io)"),
        ("Deployment", "apps/v1", "Deployment (apps)"),
        ("ReplicaSet", "extensions/v1beta1", "ReplicaSet (extensions)"),
        ("ReplicaSet", "apps/v1beta2", "ReplicaSet (apps/v1beta2)"),
        ("ReplicaSet", "v1", "ReplicaSet"),
        ("Node", "v2", "Node (v2)"),
    ],
)
def test_kinds_of_other_groups_are_passed_over_unread(kind: str, version: str, want: str) -> None:
    item = thing(kind, "x", apiVersion=version, spec=5)
    assert read(item) == Import(Snapshot(), {want: 1}, (NO_NODES,))
    assert split_dump(write_dump(split_dump(json.dumps(item).encode()))) == []


def test_an_unknown_kind_may_look_like_anything() -> None:
    assert read(thing("Widget", "w", spec=[1], status="fine")).skipped == {"Widget": 1}


def test_yaml_is_called_yaml() -> None:
    with pytest.raises(InputError, match="it is YAML"):
        read_dump(b"# a dump\napiVersion: v1\nkind: List\n")
    with pytest.raises(InputError, match="truncated"):
        read_dump(b'{"kind": "List", "items": [')


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"NAME   STATUS\na      Ready\n", id="kubectl's table"),
        pytest.param(b"kind: List\nitems: []\n", id="YAML"),
        pytest.param(b'{"kind": "List", "items": [', id="cut off"),
        pytest.param(b'{"kind": "List", "items": []} {}', id="two documents"),
        pytest.param(b"[]", id="a plain list"),
        pytest.param(b'{"items": []}', id="an object without a kind"),
        pytest.param(b'{"kind": "List", "items": {}}', id="items that are no list"),
        pytest.param(b'{"kind": "\xff"}', id="bytes that are no text"),
        pytest.param(b'{"kind": "List", "items": ' + b"[" * 100_000, id="nesting without end"),
    ],
)
def test_what_is_no_dump_is_refused_with_the_command_that_makes_one(data: bytes) -> None:
    with pytest.raises(InputError, match="is not a Kubernetes object in JSON") as caught:
        read_dump(data)
    assert caught.value.hint == f"make a dump with `{DUMP_COMMAND}`"


BAD = [
    pytest.param(
        thing("Pod", "p", "shop", spec={"containers": [{"ports": [{"hostPort": "80"}]}]}),
        ("Pod", "shop/p", "spec.containers[0].ports[0].hostPort", "Expected `int`, got `str`"),
        id="a wrong type, with its path",
    ),
    pytest.param(
        thing("Node", "a", status={"allocatable": {"cpu": True}}),
        ("Node", "a", "status.allocatable[...]", "Expected `int | float | str`, got `bool`"),
        id="a quantity that is neither text nor number",
    ),
    pytest.param(
        thing("Node", "a", status={"allocatable": {"cpu": "x"}}),
        ("Node", "a", "status.allocatable.cpu", "`x` is not a quantity"),
        id="a bad quantity",
    ),
    pytest.param(
        thing("Pod", "p", "shop", spec=None),
        ("Pod", "shop/p", "spec", "Expected `object`, got `null`"),
        id="a null spec",
    ),
    pytest.param({"kind": "Node", "metadata": {}}, ("Node", "item 1", "metadata.name", "is missing"), id="no name"),
    pytest.param({"kind": "Pod"}, ("Pod", "item 1", "metadata.name", "is missing"), id="no metadata"),
    pytest.param(7, ("object", "item 1", "(top)", "Expected `object`, got `int`"), id="an item that is no object"),
    pytest.param(
        {"kind": "Node", "metadata": {"name": 7}},
        ("Node", "item 1", "metadata.name", "Expected `str`, got `int`"),
        id="a name that is a number",
    ),
    pytest.param(
        {"kind": 7, "metadata": {"name": "a"}},
        ("object", "item 1", "kind", "Expected `str`, got `int`"),
        id="a kind that is a number",
    ),
    pytest.param(
        thing("Node", "a", metadata={"labels": {"x": 1}}),
        ("Node", "a", "metadata.labels[...]", "Expected `str`, got `int`"),
        id="a label that is a number",
    ),
    pytest.param(
        thing("Service", "s", metadata={"annotations": []}),
        ("Service", "default/s", "metadata.annotations", "Expected `object | null`, got `array`"),
        id="annotations that are a list",
    ),
    pytest.param(
        thing("Pod", "p", spec={"priority": 10**30}),
        ("Pod", "default/p", "spec.priority", "Expected `int` <= 2147483647"),
        id="a number beyond int32",
    ),
    pytest.param(
        thing("Node", "good"),
        ("Node", "good", "metadata.name", "stands 2 times in the dump, expected once"),
        id="a node twice",
    ),
]


@pytest.mark.parametrize(("item", "want"), BAD)
def test_a_bad_object_is_refused_by_name_field_and_reason(item: Any, want: tuple[str, str, str, str]) -> None:
    # There is no half of an import: what is good in the same dump is not returned either.
    with pytest.raises(ObjectError) as caught:
        read(thing("Node", "good"), item, thing("Node", "better"))
    error = caught.value
    assert (error.kind, error.name, error.field, error.reason) == want
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("item", "want"),
    [
        (thing("Namespace", "a"), "Namespace `a`"),
        (thing("Service", "a", "x"), "Service `x/a`"),
        (thing("ReplicationController", "a", "x"), "ReplicationController `x/a`"),
        (thing("ReplicaSet", "a", "x", apiVersion="apps/v1"), "ReplicaSet `x/a`"),
        (thing("StatefulSet", "a", apiVersion="apps/v1"), "StatefulSet `default/a`"),
        (thing("PersistentVolume", "a"), "PersistentVolume `a`"),
        (thing("PersistentVolumeClaim", "a", "x"), "PersistentVolumeClaim `x/a`"),
    ],
)
def test_twins_of_every_kind_are_refused(item: dict[str, Any], want: str) -> None:
    with pytest.raises(ObjectError, match=f"{want}: field `metadata.name`: stands 2 times"):
        read(item, item)


def test_no_namespace_and_the_default_one_are_the_same() -> None:
    with pytest.raises(ObjectError, match=r"Pod `default/p`: .* stands 2 times"):
        read(thing("Pod", "p"), thing("Pod", "p", "default"))


def test_kinds_may_share_a_name() -> None:
    kinds = ("ReplicaSet", "StatefulSet")
    assert len(read(*(thing(kind, "a", apiVersion="apps/v1") for kind in kinds)).snapshot.controllers) == 2


def test_a_refusal_says_that_nothing_was_imported() -> None:
    with pytest.raises(ObjectError) as caught:
        read(thing("Node", "a", metadata={"labels": {"x": 1}}))
    assert caught.value.hint == "nothing was imported; correct the object or leave it out"


def test_a_bad_quantity_is_refused_with_the_hint_that_says_how_to_write_one() -> None:
    with pytest.raises(ObjectError, match="hint: a quantity is a number"):
        read(thing("Node", "a", status={"allocatable": {"cpu": "x"}}))


def test_a_pod_twice_is_refused() -> None:
    with pytest.raises(ObjectError, match=r"Pod `x/p`: field `metadata\.name`: stands 2 times"):
        read(thing("Pod", "p", "x"), thing("Pod", "p", "y"), thing("Pod", "p", "x"))


def test_bytes_that_are_no_text_are_refused_where_they_stand() -> None:
    item = b'{"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": {"\xff": 1}}}'
    data = b'{"kind": "List", "items": [' + item + b"]}"
    with pytest.raises(ObjectError, match="Node `a`"):
        read_dump(data)


def test_a_controllers_bad_selector_is_refused() -> None:
    bad = {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}
    with pytest.raises(ObjectError, match=r"ReplicaSet `shop/r`: field `spec\.selector`: operator `Like`"):
        read(thing("ReplicaSet", "r", "shop", apiVersion="apps/v1", spec=bad))


def test_a_refusal_names_the_source_of_the_dump() -> None:
    with pytest.raises(InputError, match=r"^`cluster\.json` is not a Kubernetes object in JSON"):
        read_dump(b"", "`cluster.json`")


def test_a_dash_is_called_standard_input() -> None:
    with pytest.raises(InputError, match=r"^standard input is not a Kubernetes object in JSON"):
        read_dump(b"", "-")


def test_the_dump_command_asks_for_every_kind_that_is_read() -> None:
    asked = set(DUMP_COMMAND.split()[2].split(","))
    assert asked == {
        "nodes", "pods", "namespaces", "services", "replicationcontrollers", "replicasets", "statefulsets", "pv", "pvc",
        "csinodes",
    }  # fmt: skip


def test_a_dump_that_is_written_again_reads_the_same() -> None:
    items = [thing("Node", "a", status={"allocatable": {"cpu": "4"}}), thing("Pod", "p", spec={"nodeName": "a"})]
    data = json.dumps({"kind": "List", "items": [*items, thing("Secret", "s")]}).encode()
    written = write_dump(split_dump(data))
    assert read_dump(written) == Import(read_dump(data).snapshot, {})
    assert b"Secret" not in written


def test_splitting_reads_no_object() -> None:
    assert len(split_dump(b'{"kind": "List", "items": [1, {"kind": "Node"}]}')) == 2


def test_slips_of_the_pen_are_counted_and_named() -> None:
    notes = {"metadata": {"annotations": {"longshore.dev/wats": "1,2"}, "labels": {"longshore.dev/gpu-modl": "T4"}}}
    found = read(thing("Node", "a", **notes), thing("Node", "b", **notes), thing("Pod", "p", **notes))
    assert found.notes == (
        "2 nodes: `longshore.dev/gpu-modl` means nothing on a node; did you mean `longshore.dev/gpu-model`?",
        "2 nodes: `longshore.dev/wats` means nothing on a node; did you mean `longshore.dev/watts`?",
        "1 pod: `longshore.dev/gpu-modl` means nothing on a pod; did you mean `longshore.dev/gpu-model`?",
        "1 pod: `longshore.dev/wats` means nothing on a pod",
    )
