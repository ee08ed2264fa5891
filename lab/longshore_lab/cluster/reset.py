"""Delete what workloads made in a cluster, and nothing else: by label, the users of an object before the object."""

import asyncio
from pathlib import Path

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.errors import NotFound
from longshore.live import api
from longshore.live.workload.objects import MANAGED_BY, WORKLOAD

NAMESPACES = "/api/v1/namespaces"

# Those that make pods come first: the other way round, they would make the pods again.
NAMESPACED = (
    ("/apis/apps/v1", "deployments"),
    ("/apis/apps/v1", "statefulsets"),
    ("/apis/apps/v1", "daemonsets"),
    ("/apis/apps/v1", "replicasets"),
    ("/apis/batch/v1", "cronjobs"),
    ("/apis/batch/v1", "jobs"),
    ("/api/v1", "replicationcontrollers"),
    ("/api/v1", "pods"),
    ("/apis/policy/v1", "poddisruptionbudgets"),
    ("/api/v1", "services"),
    ("/api/v1", "configmaps"),
    ("/api/v1", "persistentvolumeclaims"),
)
CLUSTER_WIDE = (
    ("/apis/scheduling.k8s.io/v1", "priorityclasses"),
    ("/api/v1", "persistentvolumes"),
    ("/api/v1", "nodes"),
)
_SECONDS = 120.0
_POLL_SECONDS = 0.25
_SELECTOR = {"labelSelector": f"{MANAGED_BY}={WORKLOAD}"}
_DELETION = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta


class _Objects(msgspec.Struct):
    items: list[_Object]


def reset(kubeconfig: Path, seconds: float = _SECONDS) -> dict[str, int]:
    """Delete what carries the label of workloads; return how many of each kind, when all of it is gone.

    Raises:
        LongshoreError: some of it is still there in the end.
    """
    return api.call(kubeconfig, lambda client: _reset(client, seconds))


async def _reset(client: Client, seconds: float) -> dict[str, int]:
    deleted: dict[str, int] = {}
    for group, kind in NAMESPACED:
        found = await _labelled(client, f"{group}/{kind}")
        deleted[kind] = len(found)
        for namespace in sorted({item.namespace for item in found}):
            path = f"{group}/namespaces/{namespace}/{kind}"
            await client.request("DELETE", path, query=_SELECTOR, body=_DELETION, timeout_seconds=seconds)
    for group, kind in CLUSTER_WIDE:
        deleted[kind] = len(await _labelled(client, f"{group}/{kind}"))
        if deleted[kind]:
            await client.request("DELETE", f"{group}/{kind}", query=_SELECTOR, body=_DELETION, timeout_seconds=seconds)
    namespaces = await _labelled(client, NAMESPACES)
    deleted["namespaces"] = len(namespaces)
    await asyncio.gather(*(_delete_namespace(client, item.name) for item in namespaces))  # they know no collection
    await _wait_until_gone(client, [kind for kind, count in deleted.items() if count], seconds)
    return deleted


async def _delete_namespace(client: Client, name: str) -> None:
    try:
        await client.request("DELETE", f"{NAMESPACES}/{name}", body=_DELETION)
    except NotFound:
        return


async def _wait_until_gone(client: Client, kinds: list[str], seconds: float) -> None:
    paths = {kind: f"{group}/{kind}" for group, kind in (*NAMESPACED, *CLUSTER_WIDE)} | {"namespaces": NAMESPACES}
    left: list[str] = []

    async def are_gone() -> bool:
        left[:] = [f"{kind}/{item.name}" for kind in kinds for item in await _labelled(client, paths[kind])]
        return not left

    if not await api.until(are_gone, seconds, _POLL_SECONDS):
        raise LongshoreError(
            f"{len(left)} objects are still there after {seconds:g} s, the first is {left[0]}",
            "something holds them: `kubectl get -o yaml` shows its finalizers",
        )


async def _labelled(client: Client, path: str) -> list[_Meta]:
    answer = await client.request("GET", path, query=_SELECTOR, timeout_seconds=60.0)
    return [item.metadata for item in msgspec.json.decode(answer, type=_Objects).items]
