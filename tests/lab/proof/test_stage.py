"""The stage on which cases are put: order, clearing away, and what a refusal is."""

import json
from typing import Any

import pytest

from longshore.kube.errors import ApiError, Forbidden, Invalid, NotFound, TooManyRequests, Unreachable
from longshore_lab.proof.live_case import LiveCase
from longshore_lab.proof.stage import RefusedError, Stage


class Server:
    """Records requests; can refuse one by a part of its path."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.refusals: dict[str, ApiError] = {}

    async def request(self, method: str, path: str, *, body: Any = None, content_type: str = "") -> bytes:
        self.requests.append((method, path))
        for part, error in self.refusals.items():
            if part in path:
                raise error
        return json.dumps({"items": [], "metadata": {"uid": "1"}}).encode()


def thing(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "ns"}, "status": {"phase": "Running"}}


NODE, POD, CLAIM = thing("Node", "n"), thing("Pod", "p"), thing("PersistentVolumeClaim", "c")
CASE = LiveCase(0, thing("Pod", "to-place"), [NODE, CLAIM, POD], statuses=[POD], terminating=[POD])


@pytest.fixture
def server() -> Server:
    return Server()


async def test_objects_come_before_their_statuses_and_deletions(server: Server) -> None:
    await Stage(server).put(CASE)
    assert server.requests == [
        ("POST", "/api/v1/nodes"),
        ("POST", "/api/v1/namespaces/ns/persistentvolumeclaims"),
        ("POST", "/api/v1/namespaces/ns/pods"),
        ("PATCH", "/api/v1/namespaces/ns/pods/p/status"),
        ("DELETE", "/api/v1/namespaces/ns/pods/p"),
    ]


async def test_everything_is_cleared_once_and_protection_is_taken_off(server: Server) -> None:
    stage = Stage(server)
    await stage.put(CASE)
    server.requests.clear()
    await stage.clear()
    assert set(server.requests) == {
        ("DELETE", "/api/v1/nodes/n"),
        ("PATCH", "/api/v1/namespaces/ns/persistentvolumeclaims/c"),
        ("DELETE", "/api/v1/namespaces/ns/persistentvolumeclaims/c"),
        ("DELETE", "/api/v1/namespaces/ns/pods/p"),
    }
    server.requests.clear()
    await stage.clear()
    assert server.requests == []


@pytest.mark.parametrize("error", [Invalid(422, "Invalid", "no"), Forbidden(403, "Forbidden", "no")])
async def test_an_object_that_the_server_does_not_take_is_a_refusal(server: Server, error: ApiError) -> None:
    server.refusals["/pods"] = error
    with pytest.raises(RefusedError, match="Pod p: no"):
        await Stage(server).put(CASE)
    with pytest.raises(RefusedError, match="Pod to-place: no"):
        await Stage(server).create(CASE.pod)


@pytest.mark.parametrize("error", [Unreachable("away"), TooManyRequests(429, "", "later"), ApiError(500, "", "broken")])
async def test_a_server_that_fails_is_no_refusal(server: Server, error: ApiError) -> None:
    server.refusals["/pods"] = error
    with pytest.raises(type(error)):
        await Stage(server).put(CASE)


async def test_what_is_gone_already_is_cleared(server: Server) -> None:
    stage = Stage(server)
    await stage.put(CASE)
    server.refusals["/pods"] = NotFound(404, "NotFound", "gone")
    await stage.clear()
    assert ("DELETE", "/api/v1/nodes/n") in server.requests


async def test_an_object_is_read_as_the_server_has_it(server: Server) -> None:
    assert (await Stage(server).get(POD))["metadata"] == {"uid": "1"}
    assert server.requests == [("GET", "/api/v1/namespaces/ns/pods/p")]
