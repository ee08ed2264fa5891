"""What a scheduler must be allowed to do, asked of the API server first, so that what is missing is named.

The server answers for whoever asks (SelfSubjectAccessReview), and every identity may ask.
"""

import asyncio
from typing import Any, NamedTuple

import msgspec

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.resources import RESOURCES

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """One verb on one resource."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    """Empty = in all namespaces."""
    name: str = ""
    """Of the one object that it is about; empty = all."""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        what += f"/{self.subresource}" if self.subresource else ""
        return f"`{self.verb} {what}`" + (f" in namespace `{self.namespace}`" if self.namespace else "")


EVICTION = Right("delete", "pods")
"""Needed for preemption alone."""


class MissingRightsError(LongshoreError):
    """The identity may not do what a scheduler has to."""

    def __init__(self, missing: list[Right], source: str) -> None:
        names = ", ".join(map(str, missing))
        super().__init__(
            f"the identity of {source} has no right to {names}",
            "grant it; `deploy/rbac.yaml` has all that longshore needs",
        )
        self.missing = missing


def needed_rights(lease: tuple[str, str] | None) -> list[Right]:
    """List what a scheduler needs; `lease` is namespace and name of the lease, None if there is no election."""
    rights = [
        Right(verb, resource.name, resource.api_version.rpartition("/")[0])
        for resource in RESOURCES
        for verb in ("list", "watch")
    ]
    rights += [
        Right("get", "pods"),
        Right("create", "pods", subresource="binding"),
        Right("patch", "pods", subresource="status"),
        Right("create", "events", "events.k8s.io"),
    ]
    if lease is not None:
        group, (namespace, name) = "coordination.k8s.io", lease
        rights.append(Right("create", "leases", group, namespace=namespace))
        rights += [Right(verb, "leases", group, namespace=namespace, name=name) for verb in ("get", "update")]
    return rights


async def missing_rights(client: Client, rights: list[Right]) -> list[Right]:
    """Return those of the rights that the server does not grant.

    Raises:
        Unauthorized: the server does not know who asks.
        ApiError: the server refused to say, or could not be asked.
    """
    answers = await asyncio.gather(*(_is_granted(client, right) for right in rights))
    return [right for right, is_granted in zip(rights, answers, strict=True) if not is_granted]


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status


async def _is_granted(client: Client, right: Right) -> bool:
    attributes: dict[str, Any] = {"verb": right.verb, "resource": right.resource, "group": right.group}
    for field in ("subresource", "namespace", "name"):
        if getattr(right, field):
            attributes[field] = getattr(right, field)
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.request("POST", _PATH, body=review)
    return msgspec.json.decode(answer, type=_Review).status.allowed
