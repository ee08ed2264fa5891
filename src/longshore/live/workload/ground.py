"""A live workload's own place in a cluster: made before it runs, taken away afterwards; nothing else is touched."""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from longshore.core.words.errors import InputError, LongshoreError
from longshore.core.words.snapshot import Namespace
from longshore.core.words.trace import Create, Trace
from longshore.kube.client import Client
from longshore.kube.errors import ApiError, Conflict, NotFound
from longshore.live import api
from longshore.live.kwok import NODES_PATH
from longshore.live.local_clusters import is_local
from longshore.live.workload import objects
from longshore.live.workload.objects import Ground
from longshore.live.workload.plan import WorkloadPlan

PREFIX = "longshore-workload"
NAMESPACES = "/api/v1/namespaces"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_SECONDS = 60.0
_MOST_TRIES = 1000
_OTHER_NAME = "workload-"
_BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
_AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


@dataclass(frozen=True)
class Wishes:
    """What the user wants of the place."""

    name: str
    """Of the workload; part of the namespace's name."""
    seed: int = 0
    scheduler_name: str = "longshore"
    makes_nodes: bool = False
    image: str | None = None
    """None = the lab's own image in a cluster of `longshore cluster`, else upstream's `pause`."""


class _Meta(msgspec.Struct):
    name: str


class _Item(msgspec.Struct):
    metadata: _Meta


class _List(msgspec.Struct):
    items: list[_Item]


async def settle(client: Client, trace: Trace, plan: WorkloadPlan, wishes: Wishes) -> Ground:
    """Make namespaces, services, priorities and, where wanted, nodes; if that fails, take them away again.

    Raises:
        InputError: nodes are wanted in a cluster that has no KWOK.
        ApiError: the cluster refuses.
    """
    has_kwok = is_local(client.identity.server.rstrip("/"))
    if wishes.makes_nodes and not has_kwok:
        raise InputError(
            f"got `--make-nodes` for `{client.identity.server}`, which is no cluster of `longshore cluster up`",
            "nodes are made by KWOK, which runs there; leave it out to use the nodes that the cluster has",
        )
    there = await node_names(client)
    if not there and not wishes.makes_nodes:
        raise InputError(
            "the cluster has no nodes",
            "`--make-nodes` makes the workload's own" if has_kwok else "add nodes to the cluster before its pods",
        )
    image = wishes.image or (objects.LAB_IMAGE if has_kwok else objects.PAUSE_IMAGE)
    nodes = _names_for([node.name for node in trace.nodes], there) if wishes.makes_nodes else {}
    ground = Ground("", wishes.scheduler_name, image, nodes, selects_nodes=wishes.makes_nodes and bool(there))
    ground = await _claim_namespace(client, ground, wishes)
    try:
        await _furnish(client, trace, plan, ground)
    except BaseException:
        await clear(client, ground, trace)
        raise
    return ground


async def clear(client: Client, ground: Ground, trace: Trace) -> None:
    """Take away all that was made, and wait until it is gone.

    Raises:
        LongshoreError: some of it is still there in the end.
    """
    spaces = [ground.space(name) for name in _spaces(trace)]
    for space in spaces:
        # Makers of pods first, and pods at once: a namespace alone would take its time.
        for path, body in (("apps/v1", "deployments"), ("apps/v1", "replicasets")):
            await _delete(client, f"/apis/{path}/namespaces/{space}/{body}", _BACKGROUND)
        await _delete(client, f"{NAMESPACES}/{space}/pods", _AT_ONCE)
        await _delete(client, f"{NAMESPACES}/{space}", _BACKGROUND)
    for name in _priority_classes(trace, ground):
        await _delete(client, f"{PRIORITY_CLASSES}/{name}", _BACKGROUND)

    async def are_gone() -> bool:
        return not any([await api.answers(client, f"{NAMESPACES}/{space}") for space in spaces])

    try:
        if not await api.until(are_gone, _SECONDS):
            raise LongshoreError(
                f"the namespace `{ground.namespace}` is still there after {_SECONDS:g} s",
                f"`kubectl get namespace {ground.namespace} -o yaml` shows what holds it",
            )
    finally:  # after the pods: KWOK lets them end as long as their node is there
        for node in ground.nodes.values():
            await _delete(client, f"{NODES_PATH}/{node}", _BACKGROUND)


async def node_names(client: Client) -> list[str]:
    """Return the names of the cluster's nodes, in order."""
    answer = await client.request("GET", NODES_PATH, timeout_seconds=_SECONDS)
    return sorted(item.metadata.name for item in msgspec.json.decode(answer, type=_List).items)


async def wait_for_nodes(client: Client, names: Iterable[str]) -> None:
    """Wait until KWOK keeps the leases of new nodes alive: then it also runs their pods.

    Raises:
        LongshoreError: it does not in time.
    """
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    wanted = list(names)

    async def are_kept() -> bool:
        return all([await api.answers(client, f"{path}/{name}") for name in wanted])

    if not await api.until(are_kept, _SECONDS):
        raise LongshoreError(
            f"KWOK has not taken over the new nodes after {_SECONDS:g} s", "`longshore cluster status` shows its log"
        )


def _names_for(names: list[str], taken: list[str]) -> dict[str, str]:
    """Keep the trace's names of nodes, or put a word before all of them where one is taken."""
    for prefix in ("", *(f"{_OTHER_NAME}{number}-" if number else _OTHER_NAME for number in range(_MOST_TRIES))):
        found = {name: f"{prefix}{name}" for name in names}
        if not set(found.values()) & set(taken):
            return found
    raise InputError("the cluster has nodes of all names that the workload's could have")


async def _claim_namespace(client: Client, ground: Ground, wishes: Wishes) -> Ground:
    """Take the first free name: on equal clusters the same."""
    stem = re.sub(r"[^a-z0-9]+", "-", wishes.name.lower()).strip("-")[:30].strip("-") or "trace"
    base = f"{PREFIX}-{stem}-{wishes.seed}"
    for number in range(1, _MOST_TRIES):
        name = base if number == 1 else f"{base}-{number}"
        claimed = Ground(name, ground.scheduler_name, ground.image, ground.nodes, ground.selects_nodes)
        try:
            await client.request("POST", NAMESPACES, body=objects.namespace(claimed, Namespace("default")))
        except Conflict:
            continue
        return claimed
    raise LongshoreError(f"all namespaces from `{base}` to `{base}-{_MOST_TRIES - 1}` are taken")


async def _furnish(client: Client, trace: Trace, plan: WorkloadPlan, ground: Ground) -> None:
    labels = {word.name: word for word in trace.namespaces}
    spaces = [name for name in _spaces(trace) if name != "default"]
    words = [labels.get(name, Namespace(name)) for name in spaces]
    await _create(client, [(NAMESPACES, objects.namespace(ground, word)) for word in words])
    await _create(
        client, [(PRIORITY_CLASSES, objects.priority_class(ground, value)) for value in sorted(_priorities(trace))]
    )
    made = {ground.space(name) for name in _spaces(trace)}
    services = [objects.service(ground, word) for word in plan.services]
    paths = [(f"{NAMESPACES}/{one['metadata']['namespace']}/services", one) for one in services]
    await _create(client, [(path, one) for path, one in paths if one["metadata"]["namespace"] in made])
    present = [node for node in trace.nodes if node.name not in trace.absent]
    if ground.nodes:
        await _create(client, [(NODES_PATH, objects.node(ground, node)) for node in present])
        await wait_for_nodes(client, [ground.nodes[node.name] for node in present])
    await _wait_for_accounts(client, made)


async def _wait_for_accounts(client: Client, spaces: Iterable[str]) -> None:
    """Pods can be created once their namespace has its default service account."""
    for space in sorted(spaces):
        path = f"{NAMESPACES}/{space}/serviceaccounts/default"
        if not await api.until(lambda path=path: api.answers(client, path), _SECONDS):  # type: ignore[misc]
            raise LongshoreError(
                f"the namespace `{space}` has no service account after {_SECONDS:g} s",
                "kube-controller-manager makes it; does it run?",
            )


async def _create(client: Client, wanted: Iterable[tuple[str, dict[str, Any]]]) -> None:
    for path, content in wanted:  # in order: a second run makes the same in the same order
        await client.request("POST", path, body=content)


async def _delete(client: Client, path: str, options: dict[str, Any]) -> None:
    for pause in (0.2, 0.5, 1.0, 2.0, 0.0):
        try:
            await client.request("DELETE", path, body=options, timeout_seconds=_SECONDS)
        except (NotFound, Conflict):
            return
        except ApiError:
            if not pause:
                raise
            await asyncio.sleep(pause)
        else:
            return


def _spaces(trace: Trace) -> list[str]:
    found = {event.pod.namespace for event in trace.events if isinstance(event, Create)}
    return sorted({"default", *found})


def _priorities(trace: Trace) -> set[int]:
    return {event.pod.priority for event in trace.events if isinstance(event, Create)} - {0}


def _priority_classes(trace: Trace, ground: Ground) -> list[str]:
    return [ground.priority_class(value) for value in sorted(_priorities(trace))]
