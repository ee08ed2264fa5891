"""Pods in flight: many at once, of several kinds, so that a wrong placement can be seen afterwards."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict
from longshore_lab.cluster.nodes import ZONES

Json = dict[str, Any]
SCHEDULER = "longshore"
_AT_ONCE = 16
_RETRY_SECONDS = 0.3
_TRIES = 200
_FEW = 10
"""Of the kinds of which a node takes one, so many: fewer than there are nodes, also where one goes."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def make_pods(count: int, namespace: str, annotations: Mapping[str, str] | None = None) -> list[Json]:
    """Make pods of different sizes, some for one zone, some with a host port, some that keep away from each other."""
    return [_pod(number, namespace, annotations or {}) for number in range(count)]


def _pod(number: int, namespace: str, annotations: Mapping[str, str]) -> Json:
    container: Json = {"name": "c", "image": "x", "resources": {"requests": _size(number)}}
    spec: Json = {"schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 0, "containers": [container]}
    labels = {"app": "plain"}
    kind, turn = number % 5, number // 5
    if kind == 1:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": ZONES[turn % len(ZONES)]}
    elif kind == 2 and turn < _FEW:
        container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    elif kind == 3 and turn < _FEW:
        labels["app"] = "lonely"
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "lonely"}}}
        spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}
    metadata = {"name": f"p{number}", "namespace": namespace, "labels": labels, "annotations": dict(annotations)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _size(number: int) -> dict[str, str]:
    return {"cpu": f"{300 + 100 * (number % 7)}m", "memory": f"{512 + 256 * (number % 3)}Mi"}


async def create_pods(client: Client, pods: list[Json]) -> list[str]:
    """Create pods, whatever happens to the API server meanwhile; return their UIDs."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def create(pod: Json) -> str:
        async with limit:
            return await _persistently(lambda: _create(client, pod))

    return list(await asyncio.gather(*map(create, pods)))


async def delete_pods(client: Client, namespace: str) -> None:
    """Delete all pods of a namespace at once."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    path = f"/api/v1/namespaces/{namespace}/pods"
    await _persistently(lambda: _delete(client, path, options))


async def _create(client: Client, pod: Json) -> str:
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    try:
        answer = await client.request("POST", path, body=pod)
    except Conflict:  # the answer to an earlier try was lost
        answer = await client.request("GET", f"{path}/{pod['metadata']['name']}")
    return str(msgspec.json.decode(answer)["metadata"]["uid"])


async def _delete(client: Client, path: str, options: Json) -> str:
    await client.request("DELETE", path, body=options, timeout_seconds=60.0)
    return ""


async def _persistently(work: Callable[[], Awaitable[str]]) -> str:
    for _ in range(_TRIES - 1):
        try:
            return await work()
        except ApiError:
            await asyncio.sleep(_RETRY_SECONDS)
    return await work()
