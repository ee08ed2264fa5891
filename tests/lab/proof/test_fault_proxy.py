"""The proxy lets through what it is not told to disturb, and does the rest as told, before a small server."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from longshore.kube import errors
from longshore.kube.client import Client
from longshore.kube.identity import Identity
from longshore_lab.cluster import certificates
from longshore_lab.proof.api_call import Calls
from longshore_lab.proof.disturbances import (
    AnswerCut,
    AnswerLost,
    Disturbance,
    Garbage,
    HistoryGone,
    Refused,
    Reset,
    Silent,
    Slow,
    Standstill,
    Truncated,
)
from longshore_lab.proof.fault_proxy import FaultProxy, kubeconfig_through
from support.http_server import HttpServer

PODS, BINDING = "/api/v1/pods", "/api/v1/namespaces/a/pods/p/binding"
BINDINGS = Calls(("create",), "pods", "binding")
WATCHES = Calls(("watch",), "pods")
LIST = b'{"metadata": {"resourceVersion": "1"}, "items": []}'


@dataclass
class Setting:
    """The server, the proxy before it, and a client before that."""

    proxy: FaultProxy
    client: Client
    asked: list[str] = field(default_factory=list)
    """Requests that reached the server."""
    headers: list[dict[str, str]] = field(default_factory=list)
    lines: "asyncio.Queue[bytes]" = field(default_factory=asyncio.Queue)
    """What the server's watch sends."""

    async def bind(self, seconds: float = 5.0) -> bytes:
        """Send a binding."""
        return await self.client.request("POST", BINDING, body=b"{}", timeout_seconds=seconds)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer as the server does."""
        self.asked.append(f"{request.method} {request.path}")
        self.headers.append(dict(request.headers))
        await request.read()
        if "watch" not in request.query:
            return web.Response(body=LIST, content_type="application/json")
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(await self.lines.get())


@pytest.fixture
async def setting() -> AsyncIterator[Setting]:
    app = web.Application()
    server = HttpServer(app)
    made: list[Setting] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        return await made[0].serve(request)

    app.router.add_route("*", "/{path:.*}", serve)
    await server.start()
    proxy = FaultProxy(f"http://127.0.0.1:{server.port}")
    try:
        async with proxy.running(), Client(Identity(proxy.url)) as client:
            made.append(Setting(proxy, client))
            yield made[0]
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def watching(setting: Setting) -> AsyncIterator["asyncio.Queue[list[bytes]]"]:
    """Watch through the proxy; the lines come by a queue, and the error that ends it as a line."""
    got: asyncio.Queue[list[bytes]] = asyncio.Queue()

    async def watch() -> None:
        try:
            async with contextlib.aclosing(setting.client.stream(PODS, {"watch": "1"})) as lines:
                async for some in lines:
                    got.put_nowait(some)
        except errors.ApiError as error:
            got.put_nowait([type(error).__name__.encode()])
        else:
            got.put_nowait([b"end"])

    task = asyncio.create_task(watch())
    try:
        setting.lines.put_nowait(b"first\n")
        assert await asyncio.wait_for(got.get(), 5.0) == [b"first"]
        yield got
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_is_not_disturbed_goes_through(setting: Setting) -> None:
    with setting.proxy.disturbed(Refused(Calls(("get",)))) as nothing:
        assert await setting.bind() == LIST
        assert await setting.client.request("GET", PODS, query={"limit": "5"}) == LIST
        async with watching(setting):
            pass
    assert nothing.count == 0
    assert setting.asked == [f"POST {BINDING}", f"GET {PODS}", f"GET {PODS}"]
    assert setting.headers[0]["User-Agent"].startswith("longshore/")
    assert setting.headers[0]["Content-Type"] == "application/json"


async def test_slow_requests_come_late(setting: Setting) -> None:
    with setting.proxy.disturbed(Slow(BINDINGS, seconds=0.2)):
        began = time.monotonic()
        await setting.client.request("GET", PODS)
        assert time.monotonic() - began < 0.2
        await setting.bind()
        assert time.monotonic() - began >= 0.2


async def test_a_reset_request_is_never_heard_of(setting: Setting) -> None:
    with setting.proxy.disturbed(Reset(BINDINGS)), pytest.raises(errors.Unreachable) as error:
        await setting.bind()
    assert error.value.may_have_happened
    assert setting.asked == []
    assert await setting.bind() == LIST


@pytest.mark.parametrize("kind", [Reset, AnswerCut])
async def test_a_connection_is_reset_and_not_closed(setting: Setting, kind: type[Disturbance]) -> None:
    host, port = setting.proxy.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    with setting.proxy.disturbed(kind()), pytest.raises(ConnectionResetError):
        writer.write(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n")
        while await reader.read(1000):
            pass
    writer.close()


@pytest.mark.parametrize("kind", [AnswerCut, AnswerLost])
async def test_the_work_is_done_and_the_answer_is_lost(setting: Setting, kind: type[Disturbance]) -> None:
    with setting.proxy.disturbed(kind(BINDINGS)) as lost, pytest.raises(errors.Unreachable) as error:
        await setting.bind(0.5)
    assert error.value.may_have_happened
    assert (setting.asked, lost.count) == ([f"POST {BINDING}"], 1)


async def test_a_silent_server_takes_the_connection_and_says_nothing(setting: Setting) -> None:
    with setting.proxy.disturbed(Silent()):
        with pytest.raises(errors.Unreachable, match=r"no answer within 0\.3 s"):
            await setting.bind(0.3)
        waiting = asyncio.create_task(setting.bind(20.0))
        await asyncio.sleep(0.1)
    with pytest.raises(errors.Unreachable):  # reset when it is over
        await waiting
    assert setting.asked == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [(429, errors.TooManyRequests), (500, errors.ApiError), (403, errors.Forbidden), (410, errors.Gone)],
)
async def test_a_request_is_refused(setting: Setting, status: int, expected: type[errors.ApiError]) -> None:
    with setting.proxy.disturbed(Refused(BINDINGS, status=status, retry_after=7)), pytest.raises(expected) as error:
        await setting.bind()
    assert error.value.status == status
    if isinstance(error.value, errors.TooManyRequests):
        assert error.value.retry_after == 7
    assert setting.asked == []


async def test_a_watch_is_told_that_history_is_gone(setting: Setting) -> None:
    async with watching(setting) as got:
        with setting.proxy.disturbed(HistoryGone(WATCHES)):
            setting.lines.put_nowait(b"second\n")
            assert await asyncio.wait_for(got.get(), 5.0) == [b"Unreachable"]
            async with contextlib.aclosing(setting.client.stream(PODS, {"watch": "1"})) as lines:
                (line,) = [line async for some in lines for line in some]
            assert b'"type":"ERROR"' in line
            assert b'"code":410' in line
            assert await setting.client.request("GET", PODS) == LIST


async def test_the_bytes_of_a_watch_stop_and_come_later(setting: Setting) -> None:
    async with watching(setting) as got:
        with setting.proxy.disturbed(Standstill(WATCHES)):
            setting.lines.put_nowait(b"second\n")
            await setting.bind()
            await asyncio.sleep(0.1)
            assert got.empty()
        assert await asyncio.wait_for(got.get(), 5.0) == [b"second"]


async def test_nonsense_comes_in_the_place_of_an_answer_and_amid_a_watch(setting: Setting) -> None:
    async with watching(setting) as got:
        with setting.proxy.disturbed(Garbage()):
            assert b"metad\xff" in await setting.bind()
            setting.lines.put_nowait(b"second\n")
            assert b"metad\xff" in (await asyncio.wait_for(got.get(), 5.0))[0]


async def test_an_answer_ends_half_way(setting: Setting) -> None:
    with setting.proxy.disturbed(Truncated(BINDINGS)):
        assert await setting.bind() == LIST[: len(LIST) // 2]
    async with watching(setting) as got:
        with setting.proxy.disturbed(Truncated(WATCHES)):
            setting.lines.put_nowait(b"second\n")
            assert await asyncio.wait_for(got.get(), 5.0) == [b"end"]  # half a line is none


async def test_open_connections_are_reset(setting: Setting) -> None:
    async with watching(setting) as got:
        assert setting.proxy.cut(Calls(("list",))) == 0
        assert setting.proxy.cut(WATCHES) == 1
        assert await asyncio.wait_for(got.get(), 5.0) == [b"Unreachable"]


async def test_a_disturbance_may_be_for_some_requests_only(setting: Setting) -> None:
    with setting.proxy.disturbed(Refused(BINDINGS, one_in=2, limit=2)) as refused:
        outcomes = []
        for _ in range(7):
            try:
                outcomes.append(bool(await setting.bind()))
            except errors.ApiError:
                outcomes.append(False)
    assert outcomes == [True, False, True, False, True, True, True]
    assert refused.count == 2


async def test_http_2_is_not_offered(tmp_path: Path, setting: Setting) -> None:
    authority = certificates.make_authority("test")
    certificates.issue(authority, "proxy", hosts=("127.0.0.1",), is_server=True).write(tmp_path, "proxy")
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(tmp_path / "proxy.crt", tmp_path / "proxy.key")
    listening.set_alpn_protocols(["http/1.1"])
    asking = ssl.create_default_context(cadata=authority.certificate.decode())
    asking.set_alpn_protocols(["h2", "http/1.1"])
    proxy = FaultProxy(setting.proxy.url)
    async with proxy.running(listening):
        host, port = proxy.url.removeprefix("https://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), ssl=asking)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
        writer.close()
        await writer.wait_closed()


def test_a_kubeconfig_leads_through_the_proxy(tmp_path: Path) -> None:
    before, proxy = tmp_path / "before", FaultProxy("https://127.0.0.1:1")
    proxy.url = "https://127.0.0.1:2"
    before.write_text("clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{user: {token: t}}]")
    text = kubeconfig_through(proxy, before, tmp_path / "after").read_text()
    assert "127.0.0.1:2" in text
    assert "127.0.0.1:1'" not in text
    assert "token: t" in text
