"""Who is who in a local cluster: the keys of every part, and their kubeconfigs.

Two authorities: one for the cluster, one for etcd alone. With a single one, every client certificate of the cluster
would also open etcd, past all access rules.
"""

import base64
from pathlib import Path
from typing import Any

import msgspec

from longshore_lab.cluster import certificates
from longshore_lab.cluster.certificates import KeyPair

CLIENTS = {
    "admin": ("longshore:admin", ("system:masters",)),
    "controller-manager": ("system:kube-controller-manager", ()),
    "scheduler": ("system:kube-scheduler", ()),
    "kwok": ("longshore:kwok", ()),
}
"""Client certificates that become kubeconfigs: user and groups. Upstream's own rules know all but the last."""

SERVERS = ("controller-manager", "scheduler")
"""Parts with a port of their own beside the API server."""

SERVICE_NETWORK = "10.96.0.0/16"
_SERVICE_ADDRESS = "10.96.0.1"
_LOCAL = ("localhost", "127.0.0.1")
_IN_CLUSTER = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


def make_keys(pki: Path, address: str) -> None:
    """Write every key and certificate that the control plane needs."""
    cluster = certificates.make_authority("longshore-cluster")
    cluster.write(pki, "ca")
    hosts = (*dict.fromkeys((*_LOCAL, address)), _SERVICE_ADDRESS, *_IN_CLUSTER)
    certificates.issue(cluster, "kube-apiserver", hosts=hosts, is_server=True).write(pki, "apiserver")
    for name in SERVERS:
        certificates.issue(cluster, name, hosts=_LOCAL, is_server=True).write(pki, f"{name}-serving")
    kubelet_client = certificates.issue(cluster, "longshore:kubelet-client", is_client=True)
    kubelet_client.write(pki, "apiserver-kubelet-client")
    for name, (user, groups) in CLIENTS.items():
        certificates.issue(cluster, user, organizations=groups, is_client=True).write(pki, name)
    certificates.make_signing_key().write(pki, "service-account")
    etcd = certificates.make_authority("longshore-etcd")
    etcd.write(pki, "etcd-ca")
    certificates.issue(etcd, "etcd", hosts=_LOCAL, is_server=True, is_client=True).write(pki, "etcd")
    certificates.issue(etcd, "kube-apiserver", is_client=True).write(pki, "apiserver-etcd-client")


def write_kubeconfig(
    path: Path, server: str, authority: bytes, user: dict[str, Any], namespace: str = "default"
) -> None:
    """Write a kubeconfig with everything inside it, so that it works wherever it is copied to."""
    cluster = {"server": server, "certificate-authority-data": _base64(authority)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "longshore", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [
            {"name": "longshore", "context": {"cluster": "longshore", "user": "user", "namespace": namespace}}
        ],
        "current-context": "longshore",
    }
    certificates.write_private(path, msgspec.yaml.encode(content))


def certificate_user(pair: KeyPair) -> dict[str, str]:
    """Return a kubeconfig's user who shows a certificate."""
    return {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}


def write_kubeconfigs(folder: Path, server: str) -> None:
    """Write the kubeconfigs of the control plane's parts, and `kubeconfig`, the administrator's."""
    pki = folder / "pki"
    authority = (pki / "ca.crt").read_bytes()
    for name in CLIENTS:
        path = folder / "kubeconfig" if name == "admin" else folder / "config" / f"{name}.kubeconfig"
        write_kubeconfig(path, server, authority, certificate_user(certificates.read_pair(pki, name)))


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
