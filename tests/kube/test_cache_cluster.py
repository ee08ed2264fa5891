"""The watch cache on a real API server: objects come, change and go, the server restarts; it equals a fresh list."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from longshore.kube import errors, writes
from longshore.kube.cache import Cache
from longshore.kube.client import Client
from longshore.kube.config import load_identity
from longshore.kube.reflector import Reflector, run_reflectors
from longshore.kube.resources import RESOURCES
from longshore_lab.cluster import LocalCluster
from support.kube_server import until
from support.local_cluster import namespace_in, running_cluster


@pytest.fixture(scope="module")
def cluster(built_programs: None) -> Iterator[LocalCluster]:
    """Give a cluster of one's own: this test takes its API server away."""
    with running_cluster(nodes=2, has_scheduler=False) as made:
        yield made


@pytest.fixture
def namespace(cluster: LocalCluster) -> Iterator[str]:
    with namespace_in(cluster) as name:
        yield name


@contextlib.asynccontextmanager
async def caching(client: Client, **options: Any) -> AsyncIterator[Cache]:
    cache = Cache()
    reflectors = [Reflector(client, resource, cache.apply, **options) for resource in RESOURCES]
    task = asyncio.create_task(run_reflectors(reflectors))
    try:
        await until(cache.is_synced, "that all lists came in", 30.0)
        yield cache
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def equals_a_fresh_list(client: Client, cache: Cache, *, by_stream: bool) -> None:
    """Compare with a cache that lists now, until they agree: controllers change objects all the time."""
    for _ in range(20):
        async with caching(client, lists_by_stream=by_stream, page_size=3) as fresh:
            if _content(fresh) == _content(cache):
                return
        await asyncio.sleep(0.25)
    assert _content(fresh) == _content(cache)


def _content(cache: Cache) -> tuple[Any, ...]:
    return cache.snapshot(), cache.disruption_budgets(), sorted(cache.pods(), key=lambda held: held.key)


def pod(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "app", "resources": {"requests": {"cpu": "10m"}}}
    return {
        "metadata": {"name": name, "labels": {"app": "loose"}},
        "spec": {"containers": [container], "schedulerName": "longshore", "terminationGracePeriodSeconds": 0},
    }


async def change_things(client: Client, namespace: str, rng: random.Random, rounds: int, prefix: str) -> None:
    """Create pods, bind some, mark some, delete some; another run under another prefix touches none of these."""
    path, uids = f"/api/v1/namespaces/{namespace}/pods", {}
    for i in range(rounds):
        name = f"{prefix}-{i}"
        await client.request("POST", path, body=pod(name))
        uids[name] = (await writes.read_pod(client, namespace, name)).metadata.uid
        chosen = rng.choice(sorted(uids))
        match rng.randrange(3):
            case 0:
                with contextlib.suppress(errors.Conflict):
                    await writes.bind(client, namespace, chosen, uids[chosen], "node-0")
            case 1:
                condition = writes.Condition("PodScheduled", "False", "Unschedulable", f"try {i}")
                await writes.patch_pod_status(client, namespace, chosen, uids[chosen], [condition])
            case 2:
                await writes.delete_pod(client, namespace, chosen, uids.pop(chosen), grace_period_seconds=0)


async def make_surroundings(client: Client, namespace: str) -> None:
    core, meta = f"/api/v1/namespaces/{namespace}", {"name": "x"}
    service = {"metadata": meta, "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}
    await client.request("POST", f"{core}/services", body=service)
    budget = {"metadata": meta, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    await client.request("POST", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", body=budget)
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod("x")["spec"]}
    template["spec"].pop("terminationGracePeriodSeconds")
    workload = {"metadata": meta, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}}}
    workload["spec"]["template"] = template
    await client.request("POST", f"/apis/apps/v1/namespaces/{namespace}/replicasets", body=workload)


@pytest.mark.parametrize("by_stream", [True, False], ids=["streaming lists", "paged lists"])
async def test_cache_follows_a_real_cluster(cluster: LocalCluster, namespace: str, by_stream: bool) -> None:
    async with Client(load_identity(cluster.kubeconfig)) as client, caching(client, lists_by_stream=by_stream) as cache:
        await make_surroundings(client, namespace)
        await change_things(client, namespace, random.Random(7), 30, "before")
        await equals_a_fresh_list(client, cache, by_stream=not by_stream)
        assert len([held for held in cache.pods() if held.namespace == namespace]) > 5
        assert [budget.name for budget in cache.disruption_budgets() if budget.namespace == namespace] == ["x"]

        await asyncio.to_thread(cluster.restart_apiserver)
        await change_things(client, namespace, random.Random(8), 30, "after")
        await equals_a_fresh_list(client, cache, by_stream=not by_stream)


async def test_cache_can_be_filled_with_the_rights_of_the_scheduler(cluster: LocalCluster) -> None:
    async with Client(load_identity(cluster.kubeconfig_for("longshore-scheduler"))) as client, caching(client) as cache:
        assert {held.name for held in cache.nodes()} == {"node-0", "node-1"}
