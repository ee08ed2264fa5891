"""Health over HTTP: real requests to a real port, in the caller's loop."""

import asyncio
import signal
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from longshore.core.words.errors import InputError
from longshore.kube.errors import Unreachable
from longshore.kube.reviews import Verdict
from longshore.server.health import Check
from longshore.server.rights import Access
from longshore.server.routes import make_app
from longshore.server.serving import MOST_CONNECTIONS, Server, Tls
from longshore_lab.cluster.certificates import issue, make_authority


def serve(
    registry: CollectorRegistry | None = None,
    ready: Mapping[str, Check] | None = None,
    healthy: Mapping[str, Check] | None = None,
    access: Access | None = None,
    port: int = 0,
    tls: Tls | None = None,
) -> Server:
    services = {"health": healthy or {}, "readiness": ready or {}, "metrics": registry or CollectorRegistry()}
    return Server(make_app(services, access), "health", port=port, tls=tls, most_connections=MOST_CONNECTIONS)


def fetch(
    url: str, token: str | None = None, context: ssl.SSLContext | None = None
) -> tuple[int, str, Mapping[str, str]]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


async def ask(path: str, ready: Mapping[str, Check] | None = None, healthy: Mapping[str, Check] | None = None):
    async with serve(ready=ready, healthy=healthy) as server:
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
    async with serve(ready={"watch": lambda: state[0]}) as server:
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
    async with serve(registry) as server:
        status, body, headers = await asyncio.to_thread(fetch, server.address + "/metrics")
    assert status == 200
    assert "things_total 3.0" in body
    assert {name.lower(): value for name, value in headers.items()}["content-type"].startswith("text/plain; version=")


async def test_other_paths_are_not_found():
    status, _, _ = await ask("/nothing")
    assert status == 404


async def test_port_0_takes_a_free_one_and_two_servers_live_side_by_side():
    async with serve() as first, serve() as second:
        assert first.port > 0
        assert first.port != second.port


async def test_a_port_that_is_taken_is_a_sentence():
    async with serve() as server:
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {server.port}: .*in use"):
            await serve(port=server.port).start()


async def test_signals_stay_with_the_process():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with serve() as server:
        await asyncio.to_thread(fetch, server.address + "/healthz")
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_the_port_is_free_after_close():
    async with serve() as server:
        port = server.port
    async with serve(port=port) as again:
        assert again.port == port


async def test_a_client_that_never_finishes_does_not_hold_up_close():
    async with serve() as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        await writer.drain()
        await asyncio.wait_for(server.close(), timeout=60)
        writer.close()


async def test_more_connections_than_anybody_needs_are_sent_away():
    async with serve() as server:
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
    async with serve(registry) as server:
        await asyncio.to_thread(fetch, server.address + "/metrics")
    assert threads
    assert threading.get_ident() not in threads


class Reviews:
    """Knows two accounts, one of which may read."""

    async def review(self, token: str, verb: str, path: str) -> Verdict:
        assert (verb, path) == ("get", "/metrics")
        if token == "away":
            raise Unreachable("the API server did not answer")
        return {"reader": Verdict.GRANTED, "somebody": Verdict.FORBIDDEN}.get(token, Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("token", "status"), [("reader", 200), ("somebody", 403), ("other", 401), (None, 401), ("", 401), ("away", 503)]
)
async def test_metrics_by_https_are_for_those_who_may_and_health_is_for_all(
    token: str | None, status: int, tmp_path: Path
):
    authority = make_authority("tests")
    issue(authority, "metrics", hosts=("localhost",), is_server=True).write(tmp_path, "tls")
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    tls = Tls(tmp_path / "tls.crt", tmp_path / "tls.key")
    async with serve(tls=tls, access=Access(reviewer=Reviews())) as server:  # type: ignore[arg-type]
        address = f"https://localhost:{server.port}"
        for path in ("/healthz", "/readyz"):
            assert (await asyncio.to_thread(fetch, address + path, None, context))[0] == 200
        got, _, headers = await asyncio.to_thread(fetch, address + "/metrics", token, context)
        assert got == status
        assert ("www-authenticate" in {name.lower() for name in headers}) == (status == 401)
