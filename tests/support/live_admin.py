"""Nodes and pods on a real cluster for tests of the live scheduler: few words, and tidied away."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import NotFound
from longshore_lab.cluster import LocalCluster
from longshore_lab.cluster.nodes import kwok_nodes
from longshore_lab.cluster.state import ClusterOptions

Json = dict[str, Any]
MERGE = "application/merge-patch+json"
AT_ONCE = {"gracePeriodSeconds": 0}


class Api:
    """What a test does as the administrator, mostly in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace
        self.path = f"/api/v1/namespaces/{namespace}"
        self.nodes: set[str] = set()

    def full(self, name: str) -> str:
        """Return the name that a node has in the cluster: another one in every test."""
        return name if len(name) > 200 else f"{name}.{self.namespace}"

    async def node(self, name: str, cpu: str = "4", pods: int = 110, **more: Any) -> None:
        """Create a KWOK node; `more` are `labels`, `annotations`, and fields of its spec."""
        (node,) = kwok_nodes(ClusterOptions(nodes=1, node_cpu=cpu, node_memory="16Gi", node_pods=pods))
        node["metadata"]["name"] = self.full(name)
        node["metadata"]["labels"] |= {"kubernetes.io/hostname": name, **more.pop("labels", {})}
        node["metadata"]["annotations"] |= more.pop("annotations", {})
        node["spec"] = more
        await self.client.request("POST", "/api/v1/nodes", body=node)
        self.nodes.add(name)

    async def patch_node(self, name: str, change: Json) -> None:
        """Change a node."""
        body = json.dumps(change).encode()
        await self.client.request("PATCH", f"/api/v1/nodes/{self.full(name)}", body=body, content_type=MERGE)

    async def delete_node(self, name: str) -> None:
        """Delete a node; one that is gone is fine."""
        self.nodes.discard(name)
        try:
            await self.client.request("DELETE", f"/api/v1/nodes/{self.full(name)}")
        except NotFound:
            return

    async def pod(self, name: str, cpu: str | None = "100m", scheduler: str = "longshore", **more: Any) -> Json:
        """Create a pod; `more` are `labels`, `annotations`, `namespace`, and fields of its spec."""
        requests = {} if cpu is None else {"cpu": cpu}
        metadata = {"name": name, "labels": more.pop("labels", {}), "annotations": more.pop("annotations", {})}
        path = f"/api/v1/namespaces/{more.pop('namespace', self.namespace)}/pods"
        container = {"name": "c", "image": "x", "resources": {"requests": requests}}
        spec = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container], **more}
        answer = await self.client.request("POST", path, body={"kind": "Pod", "metadata": metadata, "spec": spec})
        made: Json = json.loads(answer)
        return made

    async def read(self, name: str) -> Json:
        """Return a pod; empty if it is gone."""
        try:
            found: Json = json.loads(await self.client.request("GET", f"{self.path}/pods/{name}"))
        except NotFound:
            return {}
        return found

    async def delete(self, name: str) -> None:
        """Delete a pod at once."""
        await self.client.request("DELETE", f"{self.path}/pods/{name}", body=AT_ONCE)

    async def node_of(self, name: str) -> str:
        """Return the node that a pod is bound to, by its short name; empty = none."""
        return str((await self.read(name)).get("spec", {}).get("nodeName", "")).removesuffix(f".{self.namespace}")

    async def why_pending(self, name: str) -> str:
        """Return what the condition of a pod says."""
        conditions = (await self.read(name)).get("status", {}).get("conditions", [])
        found = [each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"]
        return str(found[0].get("message", "")) if found else ""

    async def events(self, name: str, reason: str) -> list[Json]:
        """Return the events about a pod with a reason."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        found = json.loads(await self.client.request("GET", path))
        return [each for each in found["items"] if each["regarding"]["name"] == name and each["reason"] == reason]


@asynccontextmanager
async def admin(cluster: LocalCluster, namespace: str) -> AsyncIterator[Api]:
    """Give the administrator's hands; the pods of the namespace and the nodes that it made are deleted at the end."""
    async with Client(load_identity(cluster.kubeconfig)) as client:
        api = Api(client, namespace)
        try:
            yield api
        finally:
            await client.request("DELETE", f"{api.path}/pods", body=AT_ONCE)
            for name in list(api.nodes):
                await api.delete_node(name)


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 20.0) -> Any:
    """Wait until something is so, and return it."""
    ends = time.monotonic() + seconds
    while not (found := await condition()):
        assert time.monotonic() < ends, "it did not happen"
        await asyncio.sleep(0.05)
    return found
