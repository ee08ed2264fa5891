"""A row disturbs the requests that it names while pods come, and no longer; no cluster is started."""

from typing import Any

import pytest

from longshore_lab.proof import proxy_fault_list
from longshore_lab.proof.api_call import ApiCall, Calls
from longshore_lab.proof.disturbances import Refused, Slow
from longshore_lab.proof.fault_proxy import FaultProxy
from longshore_lab.proof.pod_watch import PodWatch, Sighting
from longshore_lab.proof.proxy_fault_list import BINDINGS, LEASES, POD_WATCH, PODS
from longshore_lab.proof.scene import Scene

BINDING, WATCH = ApiCall("create", "pods", "binding", "a", "p"), ApiCall("watch", "pods")
LEASE = ApiCall("update", "leases", "", "a", "b")


class Cutting(FaultProxy):
    """A proxy that takes note of what it is to cut."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.cuts: list[Calls] = []

    def cut(self, calls: Calls) -> int:
        """Take note."""
        self.cuts.append(calls)
        return 0


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Give a scene whose pods are bound as soon as they are created."""
    found = Scene(None, None, PodWatch(), "n", 100, elects_leader=True)  # type: ignore[arg-type]

    async def create(first: int, end: int) -> None:
        for number in range(first, end):
            found.uids.append(str(number))
            found.watch.sightings[str(number)] = Sighting(f"n/p{number}", ["node"], float("inf"))

    monkeypatch.setattr(found, "create", create)
    return found


async def test_requests_are_disturbed_while_pods_come(scene: Scene) -> None:
    proxy, seen = Cutting(), []
    slow, refused = Slow(BINDINGS), Refused(PODS)
    create: Any = scene.create

    async def creating(first: int, end: int) -> None:
        seen.append((len(proxy._disturbances), slow.takes(BINDING), refused.takes(WATCH), refused.takes(BINDING)))
        await create(first, end)

    scene.create = creating  # type: ignore[method-assign]
    fault = proxy_fault_list._while_disturbed(lambda: (slow, refused), cuts=POD_WATCH, seconds=0.6)
    happened = await fault(scene, proxy)
    assert [each[0] for each in seen[:2]] == [0, 2]
    assert len(seen) >= 3
    assert scene.uids == [str(number) for number in range(100)]
    assert happened.disturbed == slow.count == len(seen)
    assert happened.bound_meanwhile == 100
    assert slow.is_over.is_set()
    assert proxy._disturbances == []
    assert proxy.cuts == [POD_WATCH]
    assert scene.outage_seconds >= 0.6


def test_calls_are_told_apart() -> None:
    assert [each.has(BINDING) for each in (BINDINGS, PODS, POD_WATCH, LEASES)] == [True, True, False, False]
    assert [each.has(WATCH) for each in (BINDINGS, PODS, POD_WATCH, LEASES)] == [False, True, True, False]
    assert [each.has(LEASE) for each in (BINDINGS, PODS, POD_WATCH, LEASES)] == [False, False, False, True]
