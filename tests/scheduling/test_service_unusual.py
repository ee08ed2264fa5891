"""The scheduler in clusters that are not as one expects: empty, tiny, huge in one respect, changing under its hands."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.live.api import create_all
from longshore.scheduling.service import Service
from longshore_lab.cluster import LocalCluster
from longshore_lab.proof.held_client import HeldClient
from longshore_lab.proof.own_scheduler import running_scheduler
from longshore_lab.proof.recheck import misplaced
from longshore_lab.proof.stage import Stage
from support.live_admin import MERGE, Api, admin, until
from support.local_cluster import namespace_in, running_cluster

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture(scope="module")
def cluster(built_programs: None) -> Iterator[LocalCluster]:
    with running_cluster(nodes=0, has_scheduler=False) as found:
        yield found


@pytest.fixture
def namespace(cluster: LocalCluster) -> Iterator[str]:
    with namespace_in(cluster) as name:
        yield name


@pytest.fixture
async def api(cluster: LocalCluster, namespace: str) -> AsyncIterator[Api]:
    async with admin(cluster, namespace) as found:
        yield found


@asynccontextmanager
async def scheduler(cluster: LocalCluster, name: str = "longshore") -> AsyncIterator[Service]:
    identity = load_identity(cluster.kubeconfig_for("longshore-scheduler"))
    async with Client(identity) as client, running_scheduler(client, name) as service:
        yield service


async def test_a_cluster_without_nodes_says_so_and_a_first_node_is_used(cluster: LocalCluster, api: Api) -> None:
    async with scheduler(cluster):
        await api.pod("p")
        assert await until(lambda: api.why_pending("p")) == "no nodes available to schedule pods"
        await api.node("first")
        assert await until(lambda: api.node_of("p")) == "first"


async def test_the_last_node_goes_and_another_comes(cluster: LocalCluster, api: Api) -> None:
    await api.node("one")
    async with scheduler(cluster):
        await api.pod("a")
        await until(lambda: api.node_of("a"))
        await api.delete_node("one")
        await api.pod("b")
        assert await until(lambda: api.why_pending("b")) == "no nodes available to schedule pods"
        await api.node("two")
        assert await until(lambda: api.node_of("b")) == "two"


async def test_one_node_takes_what_fits_and_no_more(cluster: LocalCluster, api: Api) -> None:
    await api.node("only", cpu="4", pods=3)
    async with scheduler(cluster):
        for i in range(4):
            await api.pod(f"p{i}")
        for i in range(3):
            await until(lambda i=i: api.node_of(f"p{i}"))
        assert (await until(lambda: api.why_pending("p3"))).startswith("0/1 nodes are available: 1 Too many pods.")
        await api.delete("p0")
        assert await until(lambda: api.node_of("p3")) == "only"


async def test_a_node_without_cpu_takes_pods_that_ask_for_none(cluster: LocalCluster, api: Api) -> None:
    await api.node("empty", cpu="0")
    async with scheduler(cluster):
        await api.pod("wants", cpu="1m")
        await api.pod("wants-nothing", cpu=None)
        assert await until(lambda: api.node_of("wants-nothing")) == "empty"
        assert (await until(lambda: api.why_pending("wants"))).startswith(
            "0/1 nodes are available: 1 Insufficient cpu."
        )


async def test_text_of_all_languages_and_a_quarter_megabyte_of_notes(cluster: LocalCluster, api: Api) -> None:
    notes = {"example.com/note": "höher 東京 🚢 \u0000".replace("\u0000", "\t\n"), "example.com/huge": "x" * 200_000}
    await api.node("noted", annotations=notes)
    async with scheduler(cluster):
        await api.pod("p", annotations={"example.com/note": "größer 北京 🐳", "example.com/huge": "ü" * 100_000})
        assert await until(lambda: api.node_of("p")) == "noted"


async def test_a_pod_of_a_hundred_containers_counts_whole(cluster: LocalCluster, api: Api) -> None:
    await api.node("n", cpu="4")
    containers = [
        {"name": f"c{i}", "image": "x", "resources": {"requests": {"cpu": "30m"}}, "ports": [{"containerPort": 80 + i}]}
        for i in range(100)
    ]
    async with scheduler(cluster):
        await api.pod("many", containers=containers)
        assert await until(lambda: api.node_of("many")) == "n"
        await api.pod("more", cpu="1001m")
        assert "1 Insufficient cpu" in await until(lambda: api.why_pending("more"))


async def test_names_as_long_as_they_may_be(cluster: LocalCluster, api: Api) -> None:
    node, pod = ("n" * 60 + ".") * 4 + "n" * 9, ("p" * 60 + ".") * 4 + "p" * 9
    assert len(node) == len(pod) == 253
    await api.node(node, labels={"kubernetes.io/hostname": "n"})
    async with scheduler(cluster):
        await api.pod(pod, hostname="p")
        assert await until(lambda: api.node_of(pod)) == node
        assert await until(lambda: api.events(pod, "Scheduled"))


async def test_a_pod_that_is_deleted_while_it_waits_is_forgotten(cluster: LocalCluster, api: Api) -> None:
    await api.node("small", cpu="1")
    async with scheduler(cluster) as service:
        await api.pod("waits", cpu="2")
        await until(lambda: api.why_pending("waits"))
        await api.delete("waits")
        await api.pod("waits", cpu="500m")  # another pod of the same name
        assert await until(lambda: api.node_of("waits")) == "small"
        await until(lambda: _is_so(service.scheduler.num_bound == 1))


async def test_a_pod_is_replaced_by_another_of_its_name_while_its_binding_is_under_way(
    cluster: LocalCluster, api: Api
) -> None:
    await api.node("n", cpu="4")
    identity = load_identity(cluster.kubeconfig_for("longshore-scheduler"))
    async with HeldClient(identity) as client, running_scheduler(client):
        await api.pod("p", cpu="3")
        await until(lambda: _is_so(bool(client.targets)))
        await api.delete("p")
        second = await api.pod("p", cpu="2")
        client.is_holding = False
        assert await until(lambda: api.node_of("p")) == "n"
        assert (await api.read("p"))["metadata"]["uid"] == second["metadata"]["uid"]
        await api.pod("beside", cpu="2")  # the first one's room is free
        assert await until(lambda: api.node_of("beside")) == "n"


async def test_two_schedulers_without_a_lease_bind_every_pod_once(cluster: LocalCluster, api: Api) -> None:
    for i in range(3):
        await api.node(f"n{i}", cpu="16")
    async with scheduler(cluster) as one, scheduler(cluster) as two:
        names = [f"p{i}" for i in range(60)]
        await asyncio.gather(*(api.pod(name) for name in names))
        for name in names:
            await until(lambda name=name: api.node_of(name))
        # A pod that both sent to the same node counts for both.
        assert one.scheduler.num_bound + two.scheduler.num_bound >= 60
        uids = {(await api.read(name))["metadata"]["uid"] for name in names}
        assert misplaced(await Stage(api.client).read(), uids) == []


async def test_schedulers_of_two_names_share_the_nodes(cluster: LocalCluster, api: Api) -> None:
    await api.node("shared", cpu="4")
    async with scheduler(cluster, "red") as red, scheduler(cluster, "blue") as blue:
        for i in range(4):
            await api.pod(f"p{i}", cpu="900m", scheduler=("red", "blue")[i % 2])
        for i in range(4):
            await until(lambda i=i: api.node_of(f"p{i}"))
        await until(lambda: _is_so((red.scheduler.num_bound, blue.scheduler.num_bound) == (2, 2)))
        for name in ("red", "blue"):
            await api.pod(name, cpu="900m", scheduler=name)
            assert "1 Insufficient cpu" in await until(lambda name=name: api.why_pending(name))
        await api.pod("other", scheduler="green")
        await asyncio.sleep(0.5)
        assert await api.node_of("other") == ""


async def test_gates_are_taken_off_one_by_one(cluster: LocalCluster, api: Api) -> None:
    await api.node("n")
    async with scheduler(cluster):
        await api.pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}])
        for left in ([{"name": "b"}], []):
            await asyncio.sleep(0.3)
            assert await api.node_of("p") == ""
            body = json.dumps({"spec": {"schedulingGates": left}}).encode()
            await api.client.request("PATCH", f"{api.path}/pods/p", body=body, content_type=MERGE)
        assert await until(lambda: api.node_of("p")) == "n"


async def test_a_node_that_is_cordoned_gets_no_further_pod(cluster: LocalCluster, api: Api) -> None:
    await api.node("a", cpu="64")
    await api.node("b", cpu="64")
    async with scheduler(cluster) as service:
        first = asyncio.gather(*(api.pod(f"p{i}") for i in range(40)))
        await until(lambda: _is_so(service.scheduler.num_bound >= 5))
        await api.patch_node("a", {"spec": {"unschedulable": True}})
        await first
        await until(lambda: _is_so(service.scheduler.num_bound == 40))
        await asyncio.gather(*(api.pod(f"q{i}") for i in range(10)))
        assert {await until(lambda i=i: api.node_of(f"q{i}")) for i in range(10)} == {"b"}
        await api.pod("only-a", nodeSelector={"kubernetes.io/hostname": "a"})
        assert "1 node(s) were unschedulable" in await until(lambda: api.why_pending("only-a"))
        await api.patch_node("a", {"spec": {"unschedulable": None}})
        assert await until(lambda: api.node_of("only-a")) == "a"


async def test_the_highest_priority_is_placed_first(cluster: LocalCluster, api: Api) -> None:
    await api.node("n", cpu="2")
    for name, value in (("proof-low", 1), ("proof-mid", 2), ("proof-high", 3)):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        await create_all(api.client, [("/apis/scheduling.k8s.io/v1/priorityclasses", body)])
    await api.pod("low", cpu="1", priorityClassName="proof-low")
    await api.pod("mid", cpu="1", priorityClassName="proof-mid")
    await api.pod("high", cpu="1", priorityClassName="proof-high")
    async with scheduler(cluster):
        assert await until(lambda: api.why_pending("low"))
        assert (await api.node_of("high"), await api.node_of("mid"), await api.node_of("low")) == ("n", "n", "")


async def test_pods_of_a_namespace_that_is_being_deleted_do_no_harm(cluster: LocalCluster, api: Api) -> None:
    await api.node("n", cpu="1")
    async with scheduler(cluster):
        with namespace_in(cluster) as doomed:
            for i in range(5):
                await api.pod(f"large-{i}", cpu="2", namespace=doomed)
                await api.pod(f"small-{i}", cpu="200m", namespace=doomed)
        # It fits only when all of the others are gone, those that were bound while their namespace went too.
        await api.pod("p", cpu="1")
        assert await until(lambda: api.node_of("p"), 60.0) == "n"


async def test_a_claim_that_comes_later_is_waited_for(cluster: LocalCluster, api: Api) -> None:
    await api.node("n")
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    async with scheduler(cluster):
        await api.pod("p", volumes=[volume])
        assert "`data`: the claim does not exist" in await until(lambda: api.why_pending("p"))
        name = f"pv-{api.namespace}"
        storage = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
        pv = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, **storage}
        await api.client.request("POST", "/api/v1/persistentvolumes", body={"metadata": {"name": name}, "spec": pv})
        claim = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": name, **storage}
        path = f"{api.path}/persistentvolumeclaims"
        await api.client.request("POST", path, body={"metadata": {"name": "data"}, "spec": claim})
        assert await until(lambda: api.node_of("p"), 30.0) == "n"


async def test_a_full_cluster_with_many_who_wait_fills_up_when_a_node_comes(cluster: LocalCluster, api: Api) -> None:
    await api.node("n0", cpu="1")
    async with scheduler(cluster) as service:
        await asyncio.gather(*(api.pod(f"p{i}", cpu="1") for i in range(50)))
        await until(lambda: _is_so(service.scheduler.num_bound == 1))
        await api.node("n1", cpu="49")
        await until(lambda: _is_so(service.scheduler.num_bound == 50))


async def test_what_is_too_large_to_count_is_left_out_and_said(cluster: LocalCluster, api: Api) -> None:
    await api.node("absurd", cpu="9P")
    await api.node("sane", cpu="4")
    async with scheduler(cluster):
        await api.pod("p")
        assert await until(lambda: api.node_of("p")) == "sane"
        await api.pod("greedy", cpu="9223372036854775807")
        assert "spec.containers[0].resources.requests.cpu" in await until(lambda: api.why_pending("greedy"))


async def test_a_node_that_has_reported_nothing_takes_nothing(cluster: LocalCluster, api: Api) -> None:
    node = {"metadata": {"name": api.full("silent")}}
    await api.client.request("POST", "/api/v1/nodes", body=node)
    api.nodes.add("silent")
    async with scheduler(cluster):
        await api.pod("p")
        assert "1 Too many pods" in await until(lambda: api.why_pending("p"))


async def test_a_pod_that_is_being_deleted_is_not_placed(cluster: LocalCluster, api: Api) -> None:
    async with scheduler(cluster):
        await api.pod("p")
        await until(lambda: api.why_pending("p"))
        body = b'{"metadata":{"finalizers":["example.com/hold"]}}'
        await api.client.request("PATCH", f"{api.path}/pods/p", body=body, content_type=MERGE)
        await api.delete("p")
        await api.node("n")
        await api.pod("q")
        assert await until(lambda: api.node_of("q")) == "n"
        assert await api.node_of("p") == ""
        release = b'{"metadata":{"finalizers":null}}'
        await api.client.request("PATCH", f"{api.path}/pods/p", body=release, content_type=MERGE)


async def test_a_node_that_comes_and_goes_leaves_nobody_behind(cluster: LocalCluster, api: Api) -> None:
    async with scheduler(cluster) as service:
        await asyncio.gather(*(api.pod(f"p{i}", cpu="1") for i in range(20)))
        for _ in range(20):
            await api.node("flapping", cpu="1")
            await api.delete_node("flapping")
        await api.node("steady", cpu="64")

        async def all_bound() -> bool:
            return all([await api.node_of(f"p{i}") for i in range(20)])

        await until(all_bound)
        await until(lambda: _is_so(service.scheduler.num_bound == 20))


async def test_five_hundred_namespaces(cluster: LocalCluster, api: Api) -> None:
    await api.node("big", cpu="64", pods=600)
    names = [f"{api.namespace}-{i}" for i in range(500)]
    await create_all(api.client, (("/api/v1/namespaces", _namespace(name)) for name in names))
    accounts = (f"/api/v1/namespaces/{name}/serviceaccounts" for name in names)
    await create_all(api.client, ((path, {"metadata": {"name": "default"}}) for path in accounts))
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "loud"}},
        "namespaceSelector": {"matchLabels": {"team": "7"}},
    }
    async with scheduler(cluster) as service:
        await asyncio.gather(*(api.pod("p", cpu="1m", namespace=name, labels={"app": "loud"}) for name in names))
        await until(lambda: _is_so(service.scheduler.num_bound == 500), 60.0)
        await api.pod("quiet", affinity={"podAntiAffinity": {_REQUIRED: [term]}})
        assert "1 node(s) didn't match pod anti-affinity rules" in await until(lambda: api.why_pending("quiet"))


def _namespace(name: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": {"team": name[-1]}}}


async def _is_so(condition: bool) -> bool:
    return condition
