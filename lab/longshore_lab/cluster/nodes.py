"""KWOK nodes: node objects that are always healthy and whose pods are only said to run."""

import datetime
from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.live import api
from longshore_lab.cluster.parts import KWOK_ANNOTATION
from longshore_lab.cluster.state import ClusterOptions

ZONES = ("zone-a", "zone-b", "zone-c")
NODES_PATH = "/api/v1/nodes"
_NOT_READY = "node.kubernetes.io/not-ready"
_HEALTHY = [
    {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"},
    {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
    {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"},
    {"type": "PIDPressure", "status": "False", "reason": "KubeletHasSufficientPID"},
    {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"},
]


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Taint(msgspec.Struct):
    key: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Spec(msgspec.Struct):
    taints: list[_Taint] = []


class _Node(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Nodes(msgspec.Struct):
    items: list[_Node]


def kwok_nodes(options: ClusterOptions) -> list[dict[str, Any]]:
    """Return the node objects of a cluster, spread over three zones."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    width = len(str(max(options.nodes - 1, 0)))
    return [_kwok_node(f"node-{index:0{width}}", index, options, now) for index in range(options.nodes)]


def _kwok_node(name: str, index: int, options: ClusterOptions, now: str) -> dict[str, Any]:
    key, _, value = KWOK_ANNOTATION.partition("=")
    room = {"cpu": options.node_cpu, "memory": options.node_memory, "pods": str(options.node_pods)}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "local",
        "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {key: value}},
        # As a kubelet registers itself: complete. KWOK would fill it in as well, with one more write for each node.
        "status": {
            "capacity": room,
            "allocatable": room,
            "phase": "Running",
            "conditions": [dict(condition, lastHeartbeatTime=now, lastTransitionTime=now) for condition in _HEALTHY],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "kwok", "operatingSystem": "linux", "architecture": "amd64"},
        },
    }


def lease_path(name: str) -> str:
    """Return where a node's lease lies, by which it shows that somebody looks after it."""
    return f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"


async def create_nodes(client: Client, objects: list[dict[str, Any]]) -> None:
    """Create node objects, many at a time."""
    await api.create_all(client, ((NODES_PATH, content) for content in objects))


async def count_ready(client: Client) -> int:
    """Return how many nodes take pods: Ready, and no longer tainted as not ready."""
    # From the watch cache: the newest moment does not matter to one who asks again.
    answer = await client.request("GET", NODES_PATH, query={"resourceVersion": "0"}, timeout_seconds=60.0)
    nodes = msgspec.json.decode(answer, type=_Nodes).items
    return sum(_is_ready(node) for node in nodes)


def _is_ready(node: _Node) -> bool:
    is_tainted = any(taint.key == _NOT_READY for taint in node.spec.taints)
    return not is_tainted and any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
