"""The command lines of the control plane: etcd, kube-apiserver, kube-controller-manager, KWOK, kube-scheduler."""

from pathlib import Path
from typing import Any

import msgspec

from longshore.live.kwok import KWOK_ANNOTATION
from longshore_lab.build import require_program, stages_folder
from longshore_lab.cluster.audit import audit_arguments
from longshore_lab.cluster.identities import SERVICE_NETWORK
from longshore_lab.cluster.state import ClusterRecord, PartRecord

CONTROL_PLANE = ("etcd", "kube-apiserver")
FOLLOWERS = ("kube-controller-manager", "kwok")
"""They watch the API server."""
"""Started first, stopped last, in this order."""
# A renewal every 30 s, below the 50 s after which the controller-manager gives a node up; shorter, and a thousand
# nodes that only say they are alive are most of what the API server does.
_KWOK_LEASE_SECONDS = 120
_CLIENT_QPS = 5000
"""Above what the API server can do here: otherwise a measurement shows the clients' limiter."""


def part(record: ClusterRecord, folder: Path, name: str) -> PartRecord:
    """Return the part with that name, ready to be started."""
    port = record.ports.get(name)
    program, arguments = _ARGUMENTS[name](record, folder)
    return PartRecord(name=name, command=[str(require_program(program)), *arguments], port=port)


def scheduler_part(
    folder: Path,
    name: str,
    port: int,
    config: dict[str, Any] | None = None,
    verbosity: int = 0,
    program: str = "kube-scheduler",
    kubeconfig: Path | None = None,
) -> PartRecord:
    """Return a kube-scheduler, upstream's or ours, with a configuration (`profiles`, `percentageOfNodesToScore`, …).

    It schedules with the identity of `kubeconfig`, by default upstream's for a scheduler.
    """
    content: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        **(config or {}),
    }
    connection = {"qps": _CLIENT_QPS, "burst": _CLIENT_QPS, **content.get("clientConnection", {})}
    identity = kubeconfig or folder / "config" / "scheduler.kubeconfig"
    content["clientConnection"] = {**connection, "kubeconfig": str(identity)}
    path = folder / "config" / f"{name}.yaml"
    path.write_bytes(msgspec.yaml.encode(content))
    arguments = [f"--config={path}", f"--v={verbosity}", *_serving(folder, "scheduler", port)]
    return PartRecord(name=name, command=[str(require_program(program)), *arguments], port=port)


def _etcd(record: ClusterRecord, folder: Path) -> tuple[str, list[str]]:
    pki = folder / "pki"
    client, peer = (f"https://127.0.0.1:{record.ports[name]}" for name in ("etcd", "etcd-peer"))
    arguments = [
        "--name=longshore",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=longshore={peer}",
        "--unsafe-no-fsync",  # the data is thrown away with the cluster
        "--snapshot-count=50000",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
        "--watch-progress-notify-interval=5s",  # as kubeadm's: quiet watches get their bookmarks
    ]
    for prefix in ("", "peer-"):
        arguments += [
            f"--{prefix}cert-file={pki / 'etcd.crt'}",
            f"--{prefix}key-file={pki / 'etcd.key'}",
            f"--{prefix}trusted-ca-file={pki / 'etcd-ca.crt'}",
            f"--{prefix}client-cert-auth",
        ]
    return "etcd", arguments


def _apiserver(record: ClusterRecord, folder: Path) -> tuple[str, list[str]]:
    pki = folder / "pki"
    # KWOK nodes register themselves as Ready. The taint that this plugin puts on every new node would still have to be
    # taken off by the controller-manager one by one, for ten seconds with a thousand nodes.
    unused = [] if record.options.real_nodes else ["--disable-admission-plugins=TaintNodesByCondition"]
    return "kube-apiserver", [
        *unused,
        *(audit_arguments(folder) if record.options.has_audit else []),
        *(["--etcd-compaction-interval=0"] if record.options.has_history else []),
        f"--etcd-servers=https://127.0.0.1:{record.ports['etcd']}",
        f"--etcd-cafile={pki / 'etcd-ca.crt'}",
        f"--etcd-certfile={pki / 'apiserver-etcd-client.crt'}",
        f"--etcd-keyfile={pki / 'apiserver-etcd-client.key'}",
        f"--bind-address={record.address}",
        f"--secure-port={record.ports['kube-apiserver']}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--anonymous-auth=false",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-account-key-file={pki / 'service-account.crt'}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        f"--kubelet-client-certificate={pki / 'apiserver-kubelet-client.crt'}",
        f"--kubelet-client-key={pki / 'apiserver-kubelet-client.key'}",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
        "--endpoint-reconciler-type=none",  # one server, at an address that no pod of a KWOK node asks for
        # Every client gets what the server can do. With priority and fairness, upstream's scheduler has a level of its
        # own and ours has not, so that a comparison would show the levels.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        "--v=0",
    ]


def _controller_manager(record: ClusterRecord, folder: Path) -> tuple[str, list[str]]:
    pki = folder / "pki"
    return "kube-controller-manager", [
        f"--kubeconfig={folder / 'config' / 'controller-manager.kubeconfig'}",
        *_serving(folder, "controller-manager", record.ports["kube-controller-manager"]),
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'service-account.key'}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--allocate-node-cidrs=false",
        f"--kube-api-qps={_CLIENT_QPS}",
        f"--kube-api-burst={_CLIENT_QPS}",
        "--v=0",
    ]


def _kwok(_record: ClusterRecord, folder: Path) -> tuple[str, list[str]]:
    return "kwok", [
        f"--kubeconfig={folder / 'config' / 'kwok.kubeconfig'}",
        f"--manage-nodes-with-annotation-selector={KWOK_ANNOTATION}",
        "--manage-all-nodes=false",
        f"--node-lease-duration-seconds={_KWOK_LEASE_SECONDS}",
        "--node-ip=127.0.0.1",
        *(f"--config={stage}" for stage in sorted(stages_folder().glob("*.yaml"))),
    ]


def _serving(folder: Path, name: str, port: int) -> list[str]:
    """Return how a part serves its health and metrics: with a certificate, and rights as the API server says."""
    pki, kubeconfig = folder / "pki", folder / "config" / f"{name}.kubeconfig"
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki / f'{name}-serving.crt'}",
        f"--tls-private-key-file={pki / f'{name}-serving.key'}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    ]


_ARGUMENTS = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controller_manager,
    "kwok": _kwok,
}
