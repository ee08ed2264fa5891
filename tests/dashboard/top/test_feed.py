"""The feed: a real server over HTTP that comes, goes and comes back, and every other source with its trouble."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge

from dashboard.top.boards import decision
from longshore.core.words.errors import InputError, LongshoreError
from longshore.dashboard.top import feed as feed_module
from longshore.dashboard.top.feed import Feed, Sources
from longshore.kube.config import load_identity
from longshore.kube.errors import Forbidden
from longshore.kube.identity import Identity
from longshore.live.api import call
from longshore.server.routes import make_app
from longshore.server.serving import Server
from longshore.store.decisions import DecisionLog
from longshore.telemetry.sources import find_sources
from longshore_lab.cluster import LocalCluster
from support.kube_server import PATH, Answer, ApiServer, status


class ClusterServer(ApiServer):
    """Serves nodes beside the pods, and its version."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = ApiServer()

    def put_node(self, name: str) -> None:
        """Make a node with 4 CPUs."""
        self.nodes.version += 1
        meta = {"name": name, "uid": name, "resourceVersion": str(self.nodes.version)}
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        thing: dict[str, Any] = {"metadata": meta, "spec": {}, "status": {"allocatable": room, "capacity": room}}
        self.nodes.objects[name] = thing
        self.nodes._happened("ADDED", thing)

    async def start(self) -> None:
        """Listen; on the same port as before, if there was one."""
        app = web.Application()
        app.router.add_get(PATH, self._serve)
        app.router.add_get("/api/v1/nodes", self.nodes._serve)
        app.router.add_get("/version", self._version)
        await self.listen(app)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"gitVersion": "v1.36.3"})


@contextlib.asynccontextmanager
async def following(server: ClusterServer, sources: Sources | None = None) -> AsyncIterator[Feed]:
    """Run a feed on a server for the length of a test."""
    await server.start()
    feed = Feed(Identity(server.url), sources or Sources())
    task = asyncio.create_task(feed.run())
    try:
        yield feed
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await server.stop()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask more often than people need."""
    for name in ("PING_SECONDS", "LOG_SECONDS", "METRICS_SECONDS"):
        monkeypatch.setattr(feed_module, name, 0.05)


async def until(is_true: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not is_true():
            await asyncio.sleep(0.01)


async def test_nodes_and_placements_reach_the_board():
    server = ClusterServer()
    server.put_node("a")
    server.put("before", nodeName="a")
    server.put("new")
    async with following(server) as feed:
        await until(lambda: feed.status.is_synced)
        assert [row.num_pods for row in feed.board.nodes()] == [1]
        assert feed.board.placements() == []
        server.put("new", nodeName="a")
        await until(lambda: bool(feed.board.placements()))
        assert feed.board.placements()[0].pod == "default/new"
        assert feed.board.nodes()[0].num_pods == 2


async def test_a_server_that_goes_away_is_noticed_and_caught_up_with():
    server = ClusterServer()
    server.put_node("a")
    async with following(server) as feed:
        await until(lambda: feed.status.is_synced and feed.status.has_answered)
        await server.stop()
        await until(lambda: feed.status.lost_since is not None)
        assert feed.status.trouble
        assert len(feed.board.nodes()) == 1
        await server.start()
        server.put_node("b")
        await until(lambda: feed.status.lost_since is None and len(feed.board.nodes()) == 2, seconds=30)


async def test_a_server_that_is_not_there_yet_is_waited_for():
    feed = Feed(Identity("http://127.0.0.1:9"), Sources())
    task = asyncio.create_task(feed.run())
    await until(lambda: feed.status.lost_since is not None)
    assert not feed.status.has_answered
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_missing_rights_end_the_feed():
    server = ClusterServer()
    server.scripted_watches.extend([Answer(403, status(403, "Forbidden", "pods is forbidden"))] * 2)
    await server.start()
    with pytest.raises(Forbidden, match="pods is forbidden"):
        await asyncio.wait_for(Feed(Identity(server.url), Sources()).run(), 10)
    await server.stop()


async def test_readings_of_a_file_reach_the_board(tmp_path: Path):
    path = tmp_path / "readings.json"
    path.write_text(json.dumps({"nodes": {"a": {"latency_ms": 4.5}}}))
    server = ClusterServer()
    server.put_node("a")
    async with following(server, Sources(readings=find_sources([str(path)]))) as feed:
        await until(lambda: bool(feed.board.nodes()) and feed.board.nodes()[0].readings.latency_ms == 4.5)
        path.write_text("{")
        await until(lambda: "keeping the last good readings" in feed.status.readings_trouble)


async def test_readings_of_nodes_that_are_not_there_are_said(tmp_path: Path):
    path = tmp_path / "readings.json"
    path.write_text(json.dumps({"nodes": {"a": {"watts": 4.5}, "node-of-another-cluster": {"watts": 1}}}))
    server = ClusterServer()
    server.put_node("a")
    async with following(server, Sources(readings=find_sources([str(path)]))) as feed:
        await until(lambda: feed.status.readings_trouble == "1 nodes of the readings are not in this cluster")


async def test_the_decision_log_explains_placements_as_soon_as_it_is_there(tmp_path: Path):
    store = str(tmp_path / "d.db")
    server = ClusterServer()
    server.put_node("a")
    pod = server.put("p")
    async with following(server, Sources(store=store)) as feed:
        await until(lambda: feed.status.is_synced and "there is no decision log" in feed.status.log_trouble)
        server.put("p", nodeName="a")
        await until(lambda: bool(feed.board.placements()))
        now_us = int(feed.board.placements()[0].time_seconds * 1e6)
        with DecisionLog(store) as log:
            log.add(decision("p", "a", pod_uid=pod["metadata"]["uid"], time_us=now_us))
        await until(lambda: feed.board.placements()[0].decision is not None)
        assert feed.status.log_trouble == ""


async def test_a_schedulers_metrics_are_read_and_its_end_is_said():
    registry = CollectorRegistry()
    Gauge("longshore_leader", "Leads.", registry=registry).set(1)
    server = ClusterServer()
    async with Server(make_app({"metrics": registry}), "metrics") as health:
        address = f"{health.address}/metrics"
        async with following(server, Sources(metrics_url=address)) as feed:
            await until(lambda: feed.status.scheduler is not None and feed.status.scheduler.is_leader is True)
            await health.close()
            await until(lambda: feed.status.metrics_trouble.startswith(f"cannot read {address}: "))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:80", "http://", "metrics"])
def test_only_web_addresses_are_asked_for_metrics(url: str):
    with pytest.raises(InputError, match="expected a URL"):
        Feed(Identity("http://127.0.0.1:9"), Sources(metrics_url=url))


async def test_a_real_cluster_is_seen(local_cluster: LocalCluster, cluster_namespace: str):
    feed = Feed(load_identity(local_cluster.kubeconfig), Sources())
    task = asyncio.create_task(feed.run())
    try:
        await until(lambda: feed.status.is_synced, seconds=30)
        assert feed.board.totals().num_nodes == 5
        await asyncio.to_thread(create_pod, local_cluster, cluster_namespace)
        key = f"{cluster_namespace}/seen"
        await until(lambda: any(event.pod == key and event.node for event in feed.board.placements()), seconds=60)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, LongshoreError):
            await task
        await asyncio.sleep(0.1)  # TLS connections take a moment to close


def create_pod(cluster: LocalCluster, namespace: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "seen"},
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]},
    }

    async def create(client: Any) -> None:
        await client.request("POST", f"/api/v1/namespaces/{namespace}/pods", body=body)

    call(cluster.kubeconfig, create)
