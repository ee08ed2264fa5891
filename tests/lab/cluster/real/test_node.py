"""Tests of a real node's configuration: own places, verified connections, its share of the machine."""

import tomllib
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from longshore_lab.cluster import identities
from longshore_lab.cluster.real import node
from longshore_lab.cluster.real.network import Network
from longshore_lab.cluster.real.node import RealNode, Room

ROOM = Room(8000, 16 * 1024**3, 2000, 4 * 1024**3)


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealNode:
    identities.make_keys(tmp_path / "pki", "10.140.0.1")
    monkeypatch.setattr(node, "require_program", lambda name: Path("/bin") / name)
    made = RealNode(1, tmp_path, Network("abc123", 140))
    made.folder.mkdir(parents=True)
    return made


def test_both_parts_run_in_the_nodes_own_namespaces(one: RealNode) -> None:
    for part in (node.containerd_part(one), node.kubelet_part(one, "https://10.140.0.1:1", ROOM)):
        assert part.command[:3] == [
            "nsenter",
            "--net=/run/netns/longshore-abc123-1",
            "--mount=/run/longshore-abc123/1/mounts",
        ]


def test_containerd_has_places_of_its_own_and_our_sandbox(one: RealNode) -> None:
    node.containerd_part(one)
    config = tomllib.loads((one.folder / "containerd.toml").read_text())
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert config["root"] == str(one.folder / "containerd")
    assert config["grpc"]["address"] == str(one.socket)
    assert cri["sandbox_image"] == "longshore.dev/pause:1"
    assert cri["cni"]["conf_dir"] == str(one.folder / "cni")
    assert (one.folder / "cni" / "10-pods.conflist").is_file()


def test_the_kubelet_is_a_node_to_the_api_server_and_verifies_its_callers(one: RealNode) -> None:
    node.kubelet_part(one, "https://10.140.0.1:1", ROOM)
    config = yaml.safe_load((one.folder / "kubelet.yaml").read_text())
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authorization"] == {"mode": "Webhook"}
    serving = x509.load_pem_x509_certificate((one.folder / "kubelet.crt").read_bytes())
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.140.0.11"]
    kubeconfig = yaml.safe_load((one.folder / "kubeconfig").read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://10.140.0.1:1"


def test_what_the_node_does_not_offer_is_reserved(one: RealNode) -> None:
    node.kubelet_part(one, "https://10.140.0.1:1", ROOM)
    config = yaml.safe_load((one.folder / "kubelet.yaml").read_text())
    assert config["systemReserved"] == {"cpu": "6000m", "memory": str(12 * 1024**3)}
    assert config["cgroupRoot"] == "/longshore-abc123/1"


def test_nodes_share_the_machine() -> None:
    one, four = node.shared_room(1), node.shared_room(4)
    assert one.node_cpu_millis == one.machine_cpu_millis
    assert four.node_cpu_millis * 4 == one.node_cpu_millis
    assert four.node_memory_bytes * 4 <= one.machine_memory_bytes // 2


def test_the_path_of_the_socket_fits_whatever_the_folder(tmp_path: Path) -> None:
    deep = RealNode(199, tmp_path / ("x" * 200), Network("abc123", 140))
    assert len(str(deep.socket)) < 107
