"""Tests of the wire types: Kubernetes' spelling, what is passed over, and what is refused with its path."""

import msgspec
import pytest

from longshore.kube import wire


def test_fields_have_kubernetes_spelling() -> None:
    port = msgspec.json.decode(b'{"containerPort":80,"hostPort":8080,"hostIP":"10.0.0.1"}', type=wire.ContainerPort)
    assert port == wire.ContainerPort(container_port=80, host_port=8080, host_ip="10.0.0.1")


def test_required_and_preferred_are_the_long_names() -> None:
    text = b"""{"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": {}}]}}"""
    affinity = msgspec.json.decode(text, type=wire.Affinity)
    assert affinity.node_affinity == wire.NodeAffinity(wire.NodeSelector([]), [wire.PreferredNode(7)])


def test_unknown_fields_are_passed_over() -> None:
    text = b'{"metadata": {"name": "a", "managedFields": [{"manager": "kubectl"}]}, "spec": {"podCIDR": "10.0.0.0/24"}}'
    assert msgspec.json.decode(text, type=wire.Node) == wire.Node(wire.ObjectMeta(name="a"))


def test_absent_parts_have_defaults() -> None:
    assert msgspec.json.decode(b"{}", type=wire.Pod) == wire.Pod()
    assert wire.Pod().spec.containers is None
    assert wire.TopologySpreadConstraint().when_unsatisfiable == "DoNotSchedule"


@pytest.mark.parametrize("text", ['"500m"', "2", "0.5"], ids=["as text", "as a whole number", "as a fraction"])
def test_quantities_may_be_text_or_numbers(text: str) -> None:
    decoded = msgspec.json.decode(f'{{"requests": {{"cpu": {text}}}}}', type=wire.ResourceRequirements)
    assert decoded.requests == {"cpu": msgspec.json.decode(text)}


@pytest.mark.parametrize(
    ("text", "want_path"),
    [
        pytest.param(
            '{"spec": {"containers": [{"image": 7}]}}', "$.spec.containers[0].image", id="a number for a name"
        ),
        pytest.param('{"spec": {"tolerations": {}}}', "$.spec.tolerations", id="an object for a list"),
        pytest.param('{"metadata": {"labels": {"a": 1}}}', "$.metadata.labels[...]", id="a number for a label"),
        pytest.param('{"spec": {"priority": "high"}}', "$.spec.priority", id="text for a number"),
        pytest.param('{"spec": {"priority": 2147483648}}', "$.spec.priority", id="a number beyond int32"),
        pytest.param(
            '{"spec": {"containers": [{"ports": [{"hostPort": -2147483649}]}]}}',
            "$.spec.containers[0].ports[0].hostPort",
            id="a port below int32",
        ),
        pytest.param(
            '{"spec": {"topologySpreadConstraints": [{"maxSkew": 1000000000000000000000000000000}]}}',
            "$.spec.topologySpreadConstraints[0].maxSkew",
            id="a skew beyond everything",
        ),
        pytest.param(
            '{"spec": {"topologySpreadConstraints": [{"minDomains": 4294967296}]}}',
            "$.spec.topologySpreadConstraints[0].minDomains",
            id="domains beyond int32",
        ),
    ],
)
def test_wrong_types_are_refused_with_their_path(text: str, want_path: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(text, type=wire.Pod)
    assert str(caught.value).endswith(f"at `{want_path}`")


def test_a_volume_may_say_from_which_nodes_it_is_used() -> None:
    text = b'{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}}'
    assert msgspec.json.decode(text, type=wire.PersistentVolume).spec.node_affinity is not None
    assert msgspec.json.decode(b'{"spec": {}}', type=wire.PersistentVolume).spec.node_affinity is None


LONG_NAME = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("side", ["nodeAffinity", "podAffinity", "podAntiAffinity"])
def test_weights_are_int32(side: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `int` <= 2147483647"):
        msgspec.json.decode(f'{{"{side}": {{"{LONG_NAME}": [{{"weight": {2**31}}}]}}}}', type=wire.Affinity)


def test_sizes_of_images_are_int64() -> None:
    assert msgspec.json.decode(f'{{"sizeBytes": {2**63 - 1}}}', type=wire.ContainerImage).size_bytes == 2**63 - 1
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int` <= 9223372036854775807 - at `\$\.sizeBytes`"):
        msgspec.json.decode(f'{{"sizeBytes": {10**400}}}', type=wire.ContainerImage)


def test_a_name_is_read_whatever_the_metadata_holds() -> None:
    text = b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"x": 1}, "annotations": []}}'
    assert msgspec.json.decode(text, type=wire.TypeMeta) == wire.TypeMeta("v1", "Node", wire.ObjectName("a"))
