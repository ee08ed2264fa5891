"""What a soak does to a cluster: what is asked of the API server, and which pods are known to be bound or to wait."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from longshore.kube import wire
from longshore.kube.errors import NotFound
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import PODS
from longshore_lab.cluster import ClusterOptions
from longshore_lab.soak import load
from longshore_lab.soak.load import Load


class Server:
    """Takes everything, and answers what is there."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.fails = False

    async def request(self, method: str, path: str, *, body: Any = None, **_: Any) -> bytes:
        if self.fails:
            raise NotFound(404, "NotFound", "it is gone")
        self.requests.append((method, path, body))
        return b"{}"


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def made(server: Server, monkeypatch: pytest.MonkeyPatch) -> Load:
    async def make_namespace(_: Any, name: str) -> str:
        return name

    monkeypatch.setattr(load, "make_namespace", make_namespace)
    cluster = SimpleNamespace(options=ClusterOptions(nodes=4, node_cpu="10"))
    return Load(cast("Any", cluster), cast("Any", server), random.Random(0))


def pod(name: str, node: str = "", uid: str = "") -> wire.Pod:
    text = {
        "metadata": {"name": name, "namespace": "soak-0", "uid": uid or name, "resourceVersion": "1"},
        "spec": {"nodeName": node},
    }
    return msgspec.convert(text, wire.Pod)


async def test_the_fill_makes_sets_of_a_hundred_pods_that_all_have_a_place_somewhere(made: Load, server: Server):
    await made.fill(500)
    sets = [body for _, path, body in server.requests if path.endswith("/replicasets")]
    assert [each["spec"]["replicas"] for each in sets] == [100] * 5
    specs = [each["spec"]["template"]["spec"] for each in sets]
    assert {spec["schedulerName"] for spec in specs} == {"longshore"}
    assert [sorted(spec.keys() & {"affinity", "topologySpreadConstraints"}) for spec in specs[:3]] == [
        [],
        ["affinity"],
        ["topologySpreadConstraints"],
    ]
    assert (len(made.sets), len(made.nodes)) == (5, 4)


async def test_pods_are_bound_waiting_or_gone(made: Load):
    await made.fill(100)
    watch = lambda *events: made.deliver(WatchBatch(PODS, Stage.WATCH, [Event(*each) for each in events]))  # noqa: E731
    watch(("ADDED", pod("a")), ("ADDED", pod("b", "node-1")))
    assert (list(made.waiting), list(made.bound)) == (["a"], ["b"])
    watch(("MODIFIED", pod("a", "node-1")), ("DELETED", pod("b", "node-1")))
    assert (list(made.waiting), list(made.bound.values())) == ([], ["/api/v1/namespaces/soak-0/pods/a"])
    made.deliver(WatchBatch(PODS, Stage.LIST_BEGINS))
    assert not made.bound


async def test_churn_deletes_rolls_out_preempts_and_exchanges_nodes(
    made: Load, server: Server, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ROLLOUT_SECONDS", "PREEMPTION_SECONDS", "TURNOVER_SECONDS"):
        monkeypatch.setattr(load, name, 0.001)
    await made.fill(300)
    made.bound["x"] = "/api/v1/namespaces/soak-0/pods/x"
    server.requests.clear()
    task = asyncio.create_task(made.churn())
    async with asyncio.timeout(10):
        while ("DELETE", made.bound["x"]) not in [each[:2] for each in server.requests]:
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    bosses = [
        body
        for _, path, body in server.requests
        if path.endswith("/replicasets") and "priorityClassName" in body["spec"]["template"]["spec"]
    ]
    assert bosses
    nodes = [path for method, path, _ in server.requests if path.startswith("/api/v1/nodes") and method == "DELETE"]
    assert nodes[0] in [f"/api/v1/nodes/node-{i}" for i in range(4)]
    assert any(name.startswith("later-") for name in made.nodes)
    assert len(made.nodes) in (3, 4)  # it was cut off anywhere
    assert len(made.sets) in (2, 3)


async def test_a_fault_that_hits_the_load_is_no_end_of_it(made: Load, server: Server):
    await made.fill(100)
    made.bound["x"] = "/api/v1/namespaces/soak-0/pods/x"
    server.fails = True
    await made._delete_some()
    await made._delete("/api/v1/nodes/gone", None)
