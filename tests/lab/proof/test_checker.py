"""Tests of the independent checker on a real etcd: what it must see, and what it must leave alone."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.support.local_cluster import namespace_in, running_cluster

from longshore.core.words.errors import LongshoreError
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.api import until
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.checker import Checker, Violation
from longshore_lab.proof.load import delete_pods

PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


@pytest.fixture(scope="module")
def cluster(built_programs: None) -> Iterator[LocalCluster]:
    with running_cluster(nodes=2, node_cpu="4", has_history=True) as found:
        yield found


@pytest.fixture
def checker(cluster: LocalCluster) -> Iterator[Checker]:
    with Checker(cluster) as found:
        found.report()  # what was before is another test's
        yield found


@pytest.fixture
async def client(cluster: LocalCluster) -> Any:
    async with Client(load_identity(cluster.kubeconfig)) as found:
        yield found


@pytest.fixture
def pods(cluster: LocalCluster) -> Iterator[str]:
    """Give the path of pods in a namespace of the test's own."""
    with namespace_in(cluster) as name:
        yield f"/api/v1/namespaces/{name}/pods"


async def create(client: Client, pods: str, name: str, cpu: str, **spec: Any) -> Any:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    return msgspec.json.decode(await client.request("POST", pods, body=body))


async def bind(client: Client, pods: str, name: str, node: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    await client.request("POST", f"{pods}/{name}/binding", body={"metadata": {"name": name}, "target": target})


def namespace_of(pods: str) -> str:
    return pods.split("/")[4]


async def test_what_stock_kube_scheduler_does_is_well(client: Client, checker: Checker, pods: str) -> None:
    for number in range(6):
        await create(client, pods, f"p{number}", "1")

    async def are_bound() -> bool:
        items = msgspec.json.decode(await client.request("GET", pods))["items"]
        return all(pod["spec"].get("nodeName") for pod in items)

    assert await until(are_bound, 60.0)
    report = checker.report()
    await delete_pods(client, namespace_of(pods))
    assert (report.bindings, report.num_violations, sum(report.excused.values())) == (6, 0, 0)


async def test_a_node_that_is_overfilled_by_hand_is_seen(client: Client, checker: Checker, pods: str) -> None:
    for name in ("one", "two"):
        await create(client, pods, name, "3", schedulerName="nobody")
        await bind(client, pods, name, "node-0")
    report = checker.report()
    await delete_pods(client, namespace_of(pods))
    assert {kind: count for kind, count in report.violations.items() if count} == {"resources": 1}
    (shown,) = report.shown
    assert isinstance(shown, Violation)
    assert (shown.pod.rpartition("/")[2], shown.node) == ("two", "node-0")
    assert "Insufficient cpu" in str(shown)
    assert checker.report().bindings == 0, "a report begins where the last one ended"


async def test_an_eviction_that_nobody_asked_for_is_unexplained(client: Client, checker: Checker, pods: str) -> None:
    await create(client, pods, "one", "1", schedulerName="nobody")
    await bind(client, pods, "one", "node-1")
    patch = {"status": {"conditions": [PREEMPTED]}}
    await client.request("PATCH", f"{pods}/one/status", body=patch, content_type="application/merge-patch+json")
    report = checker.report()
    await delete_pods(client, namespace_of(pods))
    assert (report.evictions, report.unexplained) == (1, 1)


def test_a_checker_that_cannot_reach_etcd_says_so(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster.record.ports, "etcd", 1)
    with Checker(cluster) as checker:
        checker._process.terminate()
        with pytest.raises(LongshoreError, match="the checker has ended"):
            checker.report()
