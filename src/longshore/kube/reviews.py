"""Who may read what is not an object of the API server: it knows the tokens and the rights, and is asked.

As upstream's components do for their own ports: TokenReview says whose token it is, SubjectAccessReview whether he may.
Answers are kept for ten seconds, so that nobody makes us ask all the time.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from longshore.kube.client import Client

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_KEPT_SECONDS = 10.0
_MOST_KEPT = 256
_TIMEOUT_SECONDS = 8.0
"""Less than Prometheus' ten: it is told why."""
_MOST_AT_ONCE = 4


class Verdict(Enum):
    """What comes of a token."""

    GRANTED = "granted"
    UNKNOWN = "unknown"
    FORBIDDEN = "forbidden"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


async def may_i(client: Client, verb: str, resource: str) -> bool:
    """Say whether the client's own account may do this in all namespaces; `pods/binding` is a subresource.

    Raises:
        ApiError: the API server cannot be asked.
    """
    name, _, part = resource.partition("/")
    wish = {"resourceAttributes": {"verb": verb, "resource": name, "subresource": part}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": wish}
    answer = await client.request("POST", _OWN_ACCESS, body=body, timeout_seconds=_TIMEOUT_SECONDS)
    return msgspec.json.decode(answer, type=_AccessReview).status.allowed


class Reviewer:
    """Says whether who has a token may do something with a path."""

    def __init__(self, client: Client, now: Callable[[], float] = time.monotonic) -> None:
        self._client, self._now = client, now
        self._kept: dict[tuple[str, str, bytes], tuple[float, Verdict]] = {}
        self._turn = asyncio.Semaphore(_MOST_AT_ONCE)

    async def review(self, token: str, verb: str, path: str) -> Verdict:
        """Return what the API server says of a token, of a verb such as `get` and of a path.

        Raises:
            ApiError: it cannot be asked, or does not let us ask.
        """
        key = verb, path, hashlib.sha256(token.encode()).digest()  # tokens themselves are not kept
        async with self._turn:
            until, verdict = self._kept.get(key, (0.0, Verdict.UNKNOWN))
            if self._now() >= until:
                verdict = await self._ask(token, verb, path)
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = self._now() + _KEPT_SECONDS, verdict
            return verdict

    async def _ask(self, token: str, verb: str, path: str) -> Verdict:
        known = msgspec.json.decode(
            await self._post(_TOKENS, "authentication.k8s.io/v1", "TokenReview", {"token": token}), type=_TokenReview
        ).status
        if not known.authenticated:
            return Verdict.UNKNOWN
        user = known.user
        spec = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        answer = await self._post(_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        is_allowed = msgspec.json.decode(answer, type=_AccessReview).status.allowed
        return Verdict.GRANTED if is_allowed else Verdict.FORBIDDEN

    async def _post(self, path: str, version: str, kind: str, spec: Mapping[str, object]) -> bytes:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        return await self._client.request("POST", path, body=body, timeout_seconds=_TIMEOUT_SECONDS / 2)
