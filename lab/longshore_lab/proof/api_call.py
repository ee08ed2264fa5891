"""What a request to the API server asks for, read from its method and path, and which requests are meant. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")
"""Subresources of a namespace; anything else behind its name lies in it."""


@dataclass(frozen=True)
class ApiCall:
    """One request, in the words of the access rules."""

    verb: str
    """`get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`."""
    resource: str = ""
    """Empty where none is asked for, as at `/readyz`."""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True)
class Calls:
    """Some requests; what is None may be anything."""

    verbs: tuple[str, ...] | None = None
    resource: str | None = None
    subresource: str | None = None

    def has(self, call: ApiCall) -> bool:
        """Say whether a request is among them."""
        return (
            (self.verbs is None or call.verb in self.verbs)
            and self.resource in (None, call.resource)
            and self.subresource in (None, call.subresource)
        )


def read_call(method: str, path: str, query: Mapping[str, str]) -> ApiCall:
    """Read a request as the API server reads it."""
    parts = [part for part in path.split("/") if part]
    parts = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _OF_NAMESPACES:
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "", "")[:3]
    return ApiCall(_verb(method, name, query), resource, subresource, namespace, name)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        is_watch = query.get("watch", "") not in ("", "0", "false")
        return "watch" if is_watch else "get" if name else "list"
    verb = _VERBS.get(method, method.lower())
    return "deletecollection" if verb == "delete" and not name else verb
