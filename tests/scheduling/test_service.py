"""The scheduler on a real cluster: pods run, what is said is what stock kube-scheduler says, replicas take over."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from longshore.core.words.errors import InputError, LongshoreError
from longshore.deciding.find import find_live_policy
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.errors import NotFound, Unauthorized, Unreachable
from longshore.kube.identity import Identity
from longshore.kube.resources import PODS
from longshore.policies.base import Policy
from longshore.policies.bundle_folder import write_folder
from longshore.scheduling.metrics import SchedulerMetrics
from longshore.scheduling.rights import MissingRightsError
from longshore.scheduling.service import Service, Settings, Surroundings
from longshore_lab.cluster import LocalCluster
from support.bundle_samples import make_fixed
from support.local_cluster import namespace_in, running_cluster

NUM_NODES = 4
STOCK = "default-scheduler"
OURS = "longshore"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NOBODY = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "nobody"}}}
_CLAIMS = "no new claims to deallocate, "
"""What stock's DynamicResources plugin adds to every message; longshore has no such plugin."""


@pytest.fixture(scope="module")
def cluster(built_programs: None) -> Iterator[LocalCluster]:
    with running_cluster(nodes=NUM_NODES, node_cpu="4", node_memory="16Gi") as found:
        yield found


@pytest.fixture
def namespace(cluster: LocalCluster) -> Iterator[str]:
    with namespace_in(cluster) as name:
        yield name


@dataclass
class Replica:
    """One running scheduler."""

    service: Service
    stop: asyncio.Event
    task: "asyncio.Task[None]"
    said: list[str] = field(default_factory=list)

    async def end(self) -> None:
        self.stop.set()
        await asyncio.wait_for(self.task, 20)


@asynccontextmanager
async def replica(
    cluster: LocalCluster, kubeconfig: Path | None = None, policy: Policy | None = None, **settings: Any
) -> AsyncIterator[Replica]:
    """Run a scheduler with the rights of `deploy/rbac.yaml`; it must have ended well, or been ended, at the end."""
    stop, said = asyncio.Event(), list[str]()
    identity = load_identity(kubeconfig or cluster.kubeconfig_for("longshore-scheduler"))
    chosen = policy or find_live_policy("kube-default")
    wanted = Settings(**({"identity": f"test_{time.time_ns()}"} | settings))
    async with Client(identity) as client:
        service = Service(client, chosen, wanted, Surroundings(SchedulerMetrics(), said.append, stop))
        task = asyncio.create_task(service.run())
        try:
            yield Replica(service, stop, task, said)
            if not task.done():
                stop.set()
                await asyncio.wait_for(task, 20)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Api:
    """What tests do in a namespace, as the administrator."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.path = client, f"/api/v1/namespaces/{namespace}"
        self.namespace = namespace

    async def create_pod(self, name: str, scheduler: str = OURS, cpu: str = "100m", **more: Any) -> None:
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        metadata = {"name": name, "labels": more.pop("labels", {})}
        spec = {"schedulerName": scheduler, "containers": [container], "terminationGracePeriodSeconds": 0, **more}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await self.client.request("POST", f"{self.path}/pods", body=body)

    async def pod(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(await self.client.request("GET", f"{self.path}/pods/{name}"))
        except NotFound:
            return {}
        return found

    async def node_of(self, name: str) -> str:
        return str((await self.pod(name)).get("spec", {}).get("nodeName", ""))

    async def condition(self, name: str, kind: str = "PodScheduled") -> dict[str, Any]:
        conditions = (await self.pod(name)).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    async def events(self, name: str, reason: str) -> list[dict[str, Any]]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        found = json.loads(await self.client.request("GET", path))
        return [each for each in found["items"] if each["regarding"]["name"] == name and each["reason"] == reason]


@asynccontextmanager
async def admin(cluster: LocalCluster, namespace: str) -> AsyncIterator[Api]:
    async with Client(load_identity(cluster.kubeconfig)) as client:
        yield Api(client, namespace)


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 20.0) -> Any:
    ends = time.monotonic() + seconds
    while not (found := await condition()):
        assert time.monotonic() < ends, "it did not happen"
        await asyncio.sleep(0.05)
    return found


async def wait_said(found: Replica, words: str) -> None:
    async def is_said() -> bool:
        if found.task.done():
            await found.task
        return any(words in line for line in found.said)

    await until(is_said)


async def test_memory_is_given_back_while_it_runs(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch):
    began, ended = asyncio.Event(), asyncio.Event()

    async def keep_trimmed() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr("longshore.scheduling.service.keep_trimmed", keep_trimmed)
    async with replica(cluster):
        await asyncio.wait_for(began.wait(), 20)
    assert ended.is_set()


async def test_all_pods_run_by_the_rights_of_the_manifest(cluster: LocalCluster, namespace: str):
    async with admin(cluster, namespace) as api, replica(cluster) as ours:
        names = [f"p{i}" for i in range(40)]
        await asyncio.gather(*(api.create_pod(name) for name in names))

        async def all_run() -> bool:
            pods = await asyncio.gather(*(api.pod(name) for name in names))
            return all(pod["status"].get("phase") == "Running" for pod in pods)

        await until(all_run)
        nodes = [await api.node_of(name) for name in names]
        assert {node: nodes.count(node) for node in nodes} == dict.fromkeys(set(nodes), 10)
        assert ours.service.scheduler.num_bound == 40
        (event,) = await until(lambda: api.events("p0", "Scheduled"))
        assert event["note"] == f"Successfully assigned {namespace}/p0 to {nodes[0]}"
        assert (event["action"], event["type"], event["reportingController"]) == ("Binding", "Normal", OURS)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"cpu": "5"}, id="too large for every node"),
        pytest.param({"nodeSelector": {"disk": "fast"}}, id="no such node"),
        pytest.param({"affinity": {"podAffinity": {_REQUIRED: [_NOBODY]}}}, id="nobody to be with"),
    ],
)
async def test_a_pending_pod_says_what_stock_kube_scheduler_says(
    cluster: LocalCluster, namespace: str, spec: dict[str, Any]
):
    async with admin(cluster, namespace) as api, replica(cluster):
        for scheduler in (OURS, STOCK):
            await api.create_pod(f"p-{scheduler}", scheduler, **spec)
        conditions, notes = [], []
        for scheduler in (OURS, STOCK):
            name = f"p-{scheduler}"
            condition = await until(lambda name=name: api.condition(name))
            conditions.append([condition[key].replace(_CLAIMS, "") for key in ("status", "reason", "message")])
            events = await until(lambda name=name: api.events(name, "FailedScheduling"))
            notes.append([events[0][key].replace(_CLAIMS, "") for key in ("note", "type", "action")])
        assert conditions[0] == conditions[1]
        assert notes[0] == notes[1]


async def test_a_gated_pod_waits_and_then_runs(cluster: LocalCluster, namespace: str):
    async with admin(cluster, namespace) as api, replica(cluster):
        await api.create_pod("gated", schedulingGates=[{"name": "example.com/quota"}])
        await api.create_pod("free")
        await until(lambda: api.node_of("free"))
        assert (await api.condition("gated"))["reason"] == "SchedulingGated"
        body = json.dumps({"spec": {"schedulingGates": []}}).encode()
        path, kind = f"{api.path}/pods/gated", "application/merge-patch+json"
        await api.client.request("PATCH", path, body=body, content_type=kind)
        await until(lambda: api.node_of("gated"))


async def test_an_unsupported_need_is_named(cluster: LocalCluster, namespace: str):
    async with admin(cluster, namespace) as api, replica(cluster):
        claim = {"name": "gpu", "resourceClaimName": "none"}
        await api.create_pod("p", resourceClaims=[claim])
        (event,) = await until(lambda: api.events("p", "FailedScheduling"))
        assert "spec.resourceClaims" in event["note"]
        assert await api.node_of("p") == ""


async def test_preemption_makes_room_and_respects_a_budget(cluster: LocalCluster, namespace: str):
    async with admin(cluster, namespace) as api, replica(cluster):
        group = "/apis/scheduling.k8s.io/v1/priorityclasses"
        for name, value in (("test-low", -10), ("test-high", 1000)):
            body = {"metadata": {"name": f"{name}-{namespace}"}, "value": value}
            await api.client.request("POST", group, body=body)
        selector = {"matchLabels": {"app": "protected"}}
        budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
        budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
        await api.client.request("POST", budgets, body=budget)
        low, high = f"test-low-{namespace}", f"test-high-{namespace}"
        for i in range(NUM_NODES):
            labels = {"app": "protected"} if i == 0 else {}
            await api.create_pod(f"low-{i}", cpu="3", priorityClassName=low, labels=labels)
        for i in range(NUM_NODES):
            await until(lambda i=i: api.node_of(f"low-{i}"))
        await api.create_pod("boss", cpu="3", priorityClassName=high)
        node = await until(lambda: api.node_of("boss"))
        left = [i for i in range(NUM_NODES) if await api.pod(f"low-{i}")]
        assert len(left) == NUM_NODES - 1
        assert 0 in left
        assert node not in [await api.node_of(f"low-{i}") for i in left]
        gone = next(f"low-{i}" for i in range(NUM_NODES) if i not in left)
        (event,) = await until(lambda: api.events(gone, "Preempted"))
        uid = (await api.pod("boss"))["metadata"]["uid"]
        assert event["note"] == f"Preempted by pod {uid} on node {node}"


async def test_a_second_replica_waits_warm_and_takes_over(cluster: LocalCluster, namespace: str):
    async with admin(cluster, namespace) as api, replica(cluster, identity="first_1") as first:
        await wait_said(first, "scheduling pods")
        async with replica(cluster, identity="second_2") as second:
            await wait_said(second, "is held by `first_1`; waiting to take over")
            await api.create_pod("before")
            await until(lambda: api.node_of("before"))
            await first.end()
            await api.create_pod("after")
            await until(lambda: api.node_of("after"))
            assert second.service.is_leading
            assert (first.service.scheduler.num_bound, second.service.scheduler.num_bound) == (1, 1)


async def test_another_holder_ends_a_replica_that_does_not_want_to_wait(cluster: LocalCluster):
    async with replica(cluster, identity="first_1") as first:
        await wait_said(first, "scheduling pods")
        async with replica(cluster, waits_for_lease=False) as second:
            with pytest.raises(LongshoreError, match="is held by `first_1`"):
                await second.task


async def test_a_lost_lease_stops_the_scheduler_with_a_sentence(cluster: LocalCluster):
    async with admin(cluster, "default") as api, replica(cluster, lease_times=(3.0, 2.0, 0.3)) as ours:
        await wait_said(ours, "scheduling pods")
        path = "/apis/coordination.k8s.io/v1/namespaces/longshore-system/leases/longshore-scheduler"
        thief = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}}
        kind = "application/merge-patch+json"
        await api.client.request("PATCH", path, body=json.dumps(thief).encode(), content_type=kind)
        with pytest.raises(LongshoreError, match=r"could not be renewed.*`thief` holds it"):
            await asyncio.wait_for(ours.task, 20)
        assert not ours.service.is_leading
        await api.client.request("DELETE", path)


async def test_missing_rights_are_named(cluster: LocalCluster, tmp_path: Path):
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    token = cluster.kubectl("create", "token", "default", "-n", "default").strip()
    config["users"][0]["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    async with replica(cluster, file) as nobody:
        with pytest.raises(MissingRightsError, match=r"`list nodes`.*`create pods/binding`"):
            await nobody.task


async def test_wrong_credentials_are_said(cluster: LocalCluster, tmp_path: Path):
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"][0]["user"] = {"token": "made-up"}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    async with replica(cluster, file) as stranger:
        with pytest.raises(Unauthorized, match="401"):
            await stranger.task


async def test_a_server_that_cannot_be_reached_is_said(cluster: LocalCluster, tmp_path: Path):
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    async with replica(cluster, file) as lonely:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
            await lonely.task


async def test_a_watch_that_says_nothing_any_more_is_no_readiness():
    class Silent:
        resource, silent_seconds = PODS, 400.0

    surroundings = Surroundings(SchedulerMetrics(), lambda _: None, asyncio.Event())
    service = Service(
        Client(Identity("http://127.0.0.1:1")), find_live_policy("kube-default"), Settings(), surroundings
    )
    assert service.why_not_ready() == "the first lists have not come in"
    service._synced.set()
    assert service.why_not_ready() is None
    service._reflectors = [cast("Any", Silent())]
    assert service.why_not_ready() == "pods: the watch has said nothing for 400 s"


async def test_the_namespace_of_the_lease_is_made_where_the_rights_allow_it(cluster: LocalCluster):
    async with replica(cluster, cluster.kubeconfig, lease_namespace="new-here") as ours:
        await wait_said(ours, "scheduling pods")
    assert "made the namespace `new-here` for the lease" in ours.said


async def test_a_lease_in_a_namespace_that_cannot_be_made_is_said(cluster: LocalCluster):
    async with replica(cluster, cluster.kubeconfig, lease_namespace="kube.nowhere") as ours:
        with pytest.raises(InputError, match=r"no namespace `kube\.nowhere` for the lease, and it cannot be made"):
            await ours.task


async def test_a_network_of_another_size_is_refused(cluster: LocalCluster, tmp_path: Path):
    write_folder(tmp_path / "fixed", make_fixed(NUM_NODES + 1))
    policy = find_live_policy(str(tmp_path / "fixed"))
    async with replica(cluster, policy=policy) as ours:
        with pytest.raises(InputError, match=f"exactly {NUM_NODES + 1} nodes, and the cluster has {NUM_NODES}"):
            await ours.task
