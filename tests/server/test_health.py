"""Health over HTTP: real requests to a real port, in the caller's loop."""

import asyncio
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from longshore.core.words.errors import InputError
from longshore.server.health import MOST_CONNECTIONS, Check, HealthServer


def fetch(url: str) -> tuple[int, str, Mapping[str, str]]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


async def ask(path: str, ready: Mapping[str, Check] | None = None, healthy: Mapping[str, Check] | None = None):
    async with HealthServer(CollectorRegistry(), ready=ready, healthy=healthy) as server:
        return await asyncio.to_thread(fetch, server.address + path)


async def test_healthz_is_ok():
    status, body, _ = await ask("/healthz")
    assert (status, body) == (200, "ok\n")


async def test_healthz_is_not_about_readiness():
    status, _, _ = await ask("/healthz", ready={"watch": lambda: "not synced"})
    assert status == 200


async def test_healthz_fails_by_its_own_checks():
    status, body, _ = await ask("/healthz", healthy={"loop": lambda: "no turn for 60 s"})
    assert (status, body) == (503, "[-] loop: no turn for 60 s\n")


async def test_readyz_lists_what_fails_and_what_does_not():
    checks: dict[str, Check] = {"watch": lambda: "pods: not listed yet", "leader": lambda: None}
    status, body, _ = await ask("/readyz", ready=checks)
    assert (status, body) == (503, "[-] watch: pods: not listed yet\n[+] leader\n")


async def test_readyz_asks_again_every_time():
    state: list[str | None] = ["starting"]
    async with HealthServer(CollectorRegistry(), ready={"watch": lambda: state[0]}) as server:
        before = await asyncio.to_thread(fetch, server.address + "/readyz")
        state[0] = None
        after = await asyncio.to_thread(fetch, server.address + "/readyz")
    assert (before[0], after[0]) == (503, 200)


async def test_a_check_that_raises_is_a_failing_check():
    def check() -> str | None:
        raise KeyError("nodes")

    status, body, _ = await ask("/readyz", ready={"watch": check})
    assert (status, body) == (503, "[-] watch: the check failed: KeyError: 'nodes'\n")


async def test_metrics_are_in_prometheus_format():
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    async with HealthServer(registry) as server:
        status, body, headers = await asyncio.to_thread(fetch, server.address + "/metrics")
    assert status == 200
    assert "things_total 3.0" in body
    assert {name.lower(): value for name, value in headers.items()}["content-type"].startswith("text/plain; version=")


async def test_other_paths_are_not_found():
    status, _, _ = await ask("/nothing")
    assert status == 404


async def test_port_0_takes_a_free_one_and_two_servers_live_side_by_side():
    async with HealthServer(CollectorRegistry()) as first, HealthServer(CollectorRegistry()) as second:
        assert first.port > 0
        assert first.port != second.port


async def test_a_port_that_is_taken_is_a_sentence():
    async with HealthServer(CollectorRegistry()) as server:
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {server.port}: .*in use"):
            await HealthServer(CollectorRegistry(), port=server.port).start()


async def test_signals_stay_with_the_process():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with HealthServer(CollectorRegistry()) as server:
        await asyncio.to_thread(fetch, server.address + "/healthz")
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_the_port_is_free_after_close():
    async with HealthServer(CollectorRegistry()) as server:
        port = server.port
    async with HealthServer(CollectorRegistry(), port=port) as again:
        assert again.port == port


async def test_a_client_that_never_finishes_does_not_hold_up_close():
    async with HealthServer(CollectorRegistry()) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        await writer.drain()
        await asyncio.wait_for(server.close(), timeout=60)
        writer.close()


async def test_more_connections_than_anybody_needs_are_sent_away():
    async with HealthServer(CollectorRegistry()) as server:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(MOST_CONNECTIONS)]
        status, _, _ = await asyncio.to_thread(fetch, server.address + "/healthz")
        assert status == 503
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()


async def test_the_page_of_metrics_is_not_made_in_the_event_loop():
    threads: list[int] = []

    class Slow(Collector):
        def collect(self) -> list[Metric]:
            threads.append(threading.get_ident())
            return []

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Slow())
    threads.clear()
    async with HealthServer(registry) as server:
        await asyncio.to_thread(fetch, server.address + "/metrics")
    assert threads
    assert threading.get_ident() not in threads
