"""One real node: the configuration and the command lines of its containerd and its kubelet."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from longshore_lab.build import require_program
from longshore_lab.cluster import certificates, identities
from longshore_lab.cluster.nodes import ZONES
from longshore_lab.cluster.real import images
from longshore_lab.cluster.real.host import CNI_PROGRAMS
from longshore_lab.cluster.real.network import Network, pod_network_config
from longshore_lab.cluster.state import PartRecord

MAX_PODS = 30
KUBELET_PORT = 10250
"""The usual one: each node has a network of its own."""
_GIB = 1024**3


@dataclass(frozen=True)
class Room:
    """CPU and memory of this machine, and of it what one node offers to pods."""

    machine_cpu_millis: int
    machine_memory_bytes: int
    node_cpu_millis: int
    node_memory_bytes: int


@dataclass(frozen=True)
class RealNode:
    """One node, and where its things lie."""

    index: int
    cluster_folder: Path
    network: Network

    @property
    def name(self) -> str:
        """Return its name in the cluster."""
        return f"real-{self.index}"

    @property
    def folder(self) -> Path:
        """Return where its files are."""
        return self.cluster_folder / "real" / str(self.index)

    @property
    def run_folder(self) -> Path:
        """Return where its sockets are: short, as the path of a socket has 107 characters at most."""
        return run_folder(self.network.tag) / str(self.index)

    @property
    def socket(self) -> Path:
        """Return the socket of its containerd."""
        return self.run_folder / "containerd.sock"

    @property
    def mounts(self) -> Path:
        """Return the file that is its mount namespace."""
        return self.run_folder / "mounts"

    @property
    def manifests(self) -> Path:
        """Return where its kubelet looks for static pods."""
        return self.folder / "manifests"

    @property
    def cgroup(self) -> str:
        """Return the cgroup below which its pods are."""
        return f"{cgroup_of(self.network.tag)}/{self.index}"


def run_folder(tag: str) -> Path:
    """Return where the sockets of a cluster's nodes are."""
    return Path(f"/run/longshore-{tag}")


def cgroup_of(tag: str) -> str:
    """Return the cgroup of all real nodes of a cluster."""
    return f"/longshore-{tag}"


def shared_room(num_nodes: int) -> Room:
    """Return what each node offers: the machine's CPUs and half of its memory, divided among the nodes.

    Every kubelet sees the whole machine; without this, the nodes together would offer it several times.
    """
    cpu_millis = (os.cpu_count() or 1) * 1000
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Room(cpu_millis, memory, cpu_millis // num_nodes, memory // 2 // num_nodes)


def containerd_part(node: RealNode) -> PartRecord:
    """Write the configuration of a node's containerd and return it as a part of the cluster."""
    networks = node.folder / "cni"
    networks.mkdir(parents=True, exist_ok=True)
    (networks / "10-pods.conflist").write_bytes(msgspec.json.encode(pod_network_config(node.network, node.index)))
    path = node.folder / "containerd.toml"
    path.write_text(_containerd_config(node, networks), encoding="utf-8")
    command = [*_within(node), "containerd", f"--config={path}"]
    return PartRecord(name=f"containerd-{node.index}", command=command)


def kubelet_part(node: RealNode, server: str, room: Room) -> PartRecord:
    """Write keys and configuration of a node's kubelet and return it as a part of the cluster."""
    pki = node.cluster_folder / "pki"
    authority = certificates.read_pair(pki, "ca")
    user = certificates.issue(authority, f"system:node:{node.name}", organizations=("system:nodes",), is_client=True)
    kubeconfig = node.folder / "kubeconfig"
    identities.write_kubeconfig(kubeconfig, server, authority.certificate, identities.certificate_user(user))
    hosts = (node.name, node.network.node_address(node.index))
    certificates.issue(authority, f"system:node:{node.name}", hosts=hosts, is_server=True).write(node.folder, "kubelet")
    node.manifests.mkdir()
    path = node.folder / "kubelet.yaml"
    path.write_bytes(msgspec.yaml.encode(_kubelet_config(node, room)))
    labels = {
        "topology.kubernetes.io/region": "local",
        "topology.kubernetes.io/zone": ZONES[node.index % len(ZONES)],
        "type": "real",
    }
    command = [
        *_within(node),
        str(require_program("kubelet")),
        f"--config={path}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={node.folder / 'kubelet'}",
        f"--hostname-override={node.name}",
        f"--node-ip={node.network.node_address(node.index)}",
        f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
        "--v=0",
    ]
    return PartRecord(name=f"kubelet-{node.index}", command=command, port=KUBELET_PORT)


def _within(node: RealNode) -> list[str]:
    # Not `ip netns exec`: that also mounts another /sys, without the cgroups in it.
    return ["nsenter", f"--net=/run/netns/{node.network.namespace(node.index)}", f"--mount={node.mounts}", "--"]


def _containerd_config(node: RealNode, networks: Path) -> str:
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{node.folder / "containerd"}"
state = "{node.run_folder / "state"}"
disabled_plugins = ["io.containerd.internal.v1.opt"]

[grpc]
address = "{node.socket}"

[debug]
level = "warn"

[{cri}]
sandbox_image = "{images.image_name("pause")}"
# Where a negative value is refused, runc dies without this.
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
netns_mounts_under_state_dir = true

[{cri}.cni]
bin_dir = "{CNI_PROGRAMS}"
conf_dir = "{networks}"

[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[{cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
"""


def _kubelet_config(node: RealNode, room: Room) -> dict[str, Any]:
    reserved = {
        "cpu": f"{max(room.machine_cpu_millis - room.node_cpu_millis, 0)}m",
        "memory": str(max(room.machine_memory_bytes - room.node_memory_bytes, 0)),
    }
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.network.node_address(node.index),
        "port": KUBELET_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(node.cluster_folder / "pki" / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(node.folder / "kubelet.crt"),
        "tlsPrivateKeyFile": str(node.folder / "kubelet.key"),
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": node.cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "systemReserved": reserved,
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        "localStorageCapacityIsolation": False,
        "makeIPTablesUtilChains": False,
        "maxPods": MAX_PODS,
        "staticPodPath": str(node.manifests),
        "fileCheckFrequency": "1s",
        "podLogsDir": str(node.folder / "pod-logs"),
        "volumePluginDir": str(node.folder / "volume-plugins"),
        "resolvConf": "",
        "nodeStatusUpdateFrequency": "5s",
    }
