"""The pods of a fault: of every kind, and created whatever the server does."""

from typing import Any

import msgspec
import pytest

from longshore.kube.errors import ApiError, Conflict, Forbidden, Unreachable
from longshore_lab.proof import load
from longshore_lab.proof.load import create_pods, delete_pods, make_pods


class Server:
    """Creates pods, after some failures for each."""

    def __init__(self, *failures: ApiError) -> None:
        self.failures = failures
        self.tries: dict[str, int] = {}
        self.pods: dict[str, str] = {}
        self.deleted: list[str] = []

    async def request(self, method: str, path: str, *, body: Any = None, timeout_seconds: float = 0.0) -> bytes:
        if method == "DELETE":
            self.deleted.append(path)
            return b"{}"
        name = path.rpartition("/")[2] if method == "GET" else body["metadata"]["name"]
        if method == "POST":
            count = self.tries[name] = self.tries.get(name, 0) + 1
            if name in self.pods:
                raise Conflict(409, "AlreadyExists", "it is there")
            if count <= len(self.failures):
                error = self.failures[count - 1]
                if error.may_have_happened:
                    self.pods[name] = f"uid-{name}"
                raise error
            self.pods[name] = f"uid-{name}"
        return msgspec.json.encode({"metadata": {"uid": self.pods[name]}})


@pytest.fixture(autouse=True)
def _is_not_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_RETRY_SECONDS", 0.0)


def test_pods_are_of_every_kind_and_the_same_every_time() -> None:
    pods = make_pods(60, "ns")
    assert pods == make_pods(60, "ns")
    specs = [pod["spec"] for pod in pods]
    assert sum("nodeSelector" in spec for spec in specs) == 12
    assert sum("affinity" in spec for spec in specs) == 10
    assert sum("ports" in spec["containers"][0] for spec in specs) == 10
    assert len({pod["metadata"]["name"] for pod in pods}) == 60


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param((), id="none"),
        pytest.param((Unreachable("away", was_sent=False), Forbidden(403, "", "starting")), id="away, then starting"),
        pytest.param((Unreachable("the answer is lost"),), id="an answer that is lost"),
    ],
)
async def test_every_pod_is_created_once(failures: tuple[ApiError, ...]) -> None:
    server = Server(*failures)
    uids = await create_pods(server, make_pods(20, "ns"))
    assert uids == [f"uid-p{number}" for number in range(20)]


async def test_pods_of_a_namespace_are_deleted_together() -> None:
    server = Server()
    await delete_pods(server, "ns")
    assert server.deleted == ["/api/v1/namespaces/ns/pods"]
