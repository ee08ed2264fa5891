"""The KWOK nodes of a local cluster: made, and counted when they are ready."""

from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.live import api
from longshore.live.kwok import NODES_PATH, kwok_annotations, kwok_status
from longshore_lab.cluster.state import ClusterOptions

ZONES = ("zone-a", "zone-b", "zone-c")
_NOT_READY = "node.kubernetes.io/not-ready"


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
    width = len(str(max(options.nodes - 1, 0)))
    return [_kwok_node(f"node-{index:0{width}}", index, options) for index in range(options.nodes)]


def _kwok_node(name: str, index: int, options: ClusterOptions) -> dict[str, Any]:
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
        "metadata": {"name": name, "labels": labels, "annotations": kwok_annotations()},
        "status": kwok_status(name) | {"capacity": room, "allocatable": room},
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
