"""All that longshore writes to a cluster: bindings, pod conditions, deletions of victims, events, a namespace.

Every write of a pod names its UID: a pod that was deleted and made again under the same name is another pod.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from longshore.kube import wire
from longshore.kube.client import MERGE, STRATEGIC_MERGE, Client
from longshore.kube.errors import Garbled

NOTE_BYTES = 1024
"""The API server takes no longer note in an event."""
_CUT = b" ..."
_LONGEST_NAME = 253

_encode = msgspec.json.Encoder().encode
_decode_pod = msgspec.json.Decoder(wire.Pod).decode


class _Meta(msgspec.Struct, omit_defaults=True, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: Mapping[str, str] | None = None


class _Target(msgspec.Struct, frozen=True, gc=False):
    name: str
    kind: str = "Node"


class _Binding(msgspec.Struct, rename="camel", frozen=True, gc=False):
    metadata: _Meta
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


class Condition(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """A pod condition as the scheduler writes it, such as `PodScheduled`, `False`, `Unschedulable`."""

    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_time: str | None = None
    """When the status changed; None = now. A repeated condition gives the time that it had."""
    observed_generation: int | None = None


class Reference(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """An object that an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class Reporter(NamedTuple):
    """Who reports events: the scheduler's name and this process (`NAME-HOST`)."""

    controller: str
    instance: str


class _Event(msgspec.Struct, rename="camel", frozen=True):
    metadata: _Meta
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: Reference
    note: str
    type: str
    related: Reference | msgspec.UnsetType = msgspec.UNSET
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


def pod_reference(namespace: str, name: str, uid: str, resource_version: str = "") -> Reference:
    """Name a pod for an event."""
    return Reference("Pod", namespace, name, uid, "v1", resource_version)


async def bind(
    client: Client,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    annotations: Mapping[str, str] | None = None,
    *,
    timeout_seconds: float = 10.0,
) -> None:
    """Bind a pod to a node; annotations are put on the pod with it.

    Raises:
        Conflict: the pod is bound already, or it is another pod of the same name, or it is being deleted.
        NotFound: the pod is gone.
        ApiError: anything else; where `may_have_happened`, read the pod before binding again.
    """
    body = _encode(_Binding(_Meta(name, namespace, uid, annotations or None), _Target(node)))
    await client.request(
        "POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", body=body, timeout_seconds=timeout_seconds
    )


async def read_pod(client: Client, namespace: str, name: str, *, timeout_seconds: float = 10.0) -> wire.Pod:
    """Read one pod from the API server itself, as after a binding of which the answer was lost.

    Raises:
        NotFound: there is none.
        ApiError: the server refused, did not answer, or not in a way that can be read.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    body = await client.request("GET", path, timeout_seconds=timeout_seconds)
    try:
        return _decode_pod(body)
    except wire.UNREADABLE as error:
        raise Garbled(f"GET {path}", error) from error


async def patch_pod_status(
    client: Client,
    namespace: str,
    name: str,
    uid: str,
    conditions: Sequence[Condition] = (),
    nominated_node: str | None = None,
    *,
    now: float | None = None,
) -> None:
    """Write conditions (each replaces that of its type) and the nominated node: None leaves it, `""` takes it away.

    Raises:
        Invalid, Conflict: it is another pod of the same name.
        NotFound: the pod is gone.
        ApiError: the server refused or did not answer.
    """
    status: dict[str, object] = {}
    if conditions:
        moment = _seconds(time.time() if now is None else now)
        status["conditions"] = [
            msgspec.structs.replace(condition, last_transition_time=condition.last_transition_time or moment)
            for condition in conditions
        ]
    if nominated_node is not None:
        status["nominatedNodeName"] = nominated_node or None
    body = _encode({"metadata": {"uid": uid}, "status": status})
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
    await client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE)


async def delete_pod(
    client: Client, namespace: str, name: str, uid: str, *, grace_period_seconds: int | None = None
) -> None:
    """Delete a pod, with the grace that it asked for itself unless another is given.

    Raises:
        Conflict: it is another pod of the same name.
        NotFound: the pod is gone.
        ApiError: the server refused or did not answer.
    """
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    await client.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", body=options)


async def create_event(
    client: Client,
    reporter: Reporter,
    regarding: Reference,
    reason: str,
    action: str,
    note: str,
    *,
    is_warning: bool = False,
    related: Reference | None = None,
    name: str = "",
    now: float | None = None,
) -> None:
    """Write an event, under `name` or a name that is made for it.

    Upstream's are `Scheduled`/`Binding`, `FailedScheduling`/`Scheduling`, `Preempted`/`Preempting`.

    Raises:
        ApiError: the server refused or did not answer.
    """
    moment = time.time() if now is None else now
    namespace = regarding.namespace or "default"
    event = _Event(
        metadata=_Meta(name or event_name(regarding.name, moment), namespace),
        event_time=micro_time(moment),
        reporting_controller=reporter.controller,
        reporting_instance=reporter.instance[:128],
        action=action,
        reason=reason,
        regarding=regarding,
        note=truncated(note),
        type="Warning" if is_warning else "Normal",
        related=related or msgspec.UNSET,
    )
    await client.request("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", body=_encode(event))


async def repeat_event(client: Client, namespace: str, name: str, count: int, *, now: float | None = None) -> None:
    """Write into an event how often it was seen by now.

    Raises:
        NotFound: it is gone; the API server keeps events for an hour.
        ApiError: the server refused or did not answer.
    """
    series = {"count": count, "lastObservedTime": micro_time(time.time() if now is None else now)}
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}"
    await client.request("PATCH", path, body={"series": series}, content_type=MERGE)


async def create_namespace(client: Client, name: str) -> None:
    """Make a namespace.

    Raises:
        Conflict: it is there.
        ApiError: the server refused or did not answer.
    """
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.request("POST", "/api/v1/namespaces", body=body)


def truncated(note: str) -> str:
    """Shorten a note to what an event may hold, in bytes as the server counts."""
    raw = note.encode()
    if len(raw) <= NOTE_BYTES:
        return note
    return (raw[: NOTE_BYTES - len(_CUT)]).decode("utf-8", "ignore") + _CUT.decode()


def micro_time(moment: float) -> str:
    """Write a moment as Kubernetes' MicroTime (events, leases)."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _seconds(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event_name(name: str, moment: float) -> str:
    """Make a name for an event about an object."""
    made = f"{name}.{int(moment * 1e9):x}"
    return made if len(made) <= _LONGEST_NAME else str(uuid.uuid4())
