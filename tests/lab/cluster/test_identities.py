"""Tests of the cluster's identities: who signs whom, and what a kubeconfig holds."""

import base64
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from longshore.kube.config import load_identity
from longshore_lab.cluster import identities


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "config").mkdir()
    identities.make_keys(folder / "pki", "10.1.2.3")
    identities.write_kubeconfigs(folder, "https://10.1.2.3:6443")
    return folder


def certificate(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / "pki" / f"{name}.crt").read_bytes())


def test_every_certificate_of_the_cluster_is_signed_by_its_authority(folder: Path) -> None:
    authority = certificate(folder, "ca")
    for name in ("apiserver", "apiserver-kubelet-client", "admin", "scheduler", "kwok", "scheduler-serving"):
        certificate(folder, name).verify_directly_issued_by(authority)


def test_no_client_of_the_cluster_is_one_of_etcd(folder: Path) -> None:
    etcd = certificate(folder, "etcd-ca")
    certificate(folder, "apiserver-etcd-client").verify_directly_issued_by(etcd)
    with pytest.raises((InvalidSignature, ValueError)):
        certificate(folder, "admin").verify_directly_issued_by(etcd)


def test_the_api_server_is_reached_by_its_address_and_by_its_names(folder: Path) -> None:
    names = certificate(folder, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [
        "127.0.0.1",
        "10.1.2.3",
        "10.96.0.1",
    ]
    assert "kubernetes.default.svc" in names.get_values_for_type(x509.DNSName)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("admin", "O=system:masters,CN=longshore:admin"),
        ("controller-manager", "CN=system:kube-controller-manager"),
        ("scheduler", "CN=system:kube-scheduler"),
        ("kwok", "CN=longshore:kwok"),
    ],
)
def test_the_users_are_those_that_the_rules_know(folder: Path, name: str, want: str) -> None:
    subject = certificate(folder, name).subject
    assert ",".join(part.rfc4514_string() for part in subject.rdns) == want


def test_no_private_file_can_be_read_by_others(folder: Path) -> None:
    private = [*folder.rglob("*.key"), *folder.rglob("*.kubeconfig"), folder / "kubeconfig"]
    assert len(private) > 10
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


def test_the_kubeconfig_is_one_that_our_own_client_takes(folder: Path) -> None:
    identity = load_identity(folder / "kubeconfig")
    assert identity.server == "https://10.1.2.3:6443"


def test_kubeconfigs_verify_the_server(folder: Path) -> None:
    for path in (folder / "kubeconfig", *(folder / "config").glob("*.kubeconfig")):
        text = path.read_text()
        (entry,) = yaml.safe_load(text)["clusters"]
        authority = base64.b64decode(entry["cluster"]["certificate-authority-data"])
        assert authority == (folder / "pki" / "ca.crt").read_bytes()
        assert "insecure" not in text
