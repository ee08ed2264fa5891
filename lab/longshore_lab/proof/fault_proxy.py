"""A proxy between a scheduler and the API server that does to requests what networks and busy servers do to them.

It shows a certificate of the cluster's own authority and speaks HTTP/1.1 to both sides, so that every request can be
told from every other. Credentials in headers (tokens) go through to the API server; whoever shows a certificate
instead is known to the API server by the one that the proxy is given for him.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
from aiohttp import web
from yarl import URL

from longshore_lab.cluster import LocalCluster, certificates
from longshore_lab.cluster.certificates import write_private
from longshore_lab.proof.api_call import ApiCall, Calls, read_call
from longshore_lab.proof.disturbances import Answer, CutOff, Disturbance, EndsHere

_NAME: Final = "fault-proxy"
_HOPS: Final = ("connection", "keep-alive", "transfer-encoding", "content-length", "host", "date", "upgrade")
"""Headers that belong to one connection, and those that are written anew."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""Closing is a reset (RST)."""


class FaultProxy:
    """Passes requests on, and disturbs those that it is told to, as long as it is told."""

    def __init__(self, server: str, tls: ssl.SSLContext | None = None) -> None:
        """Take where the API server is, and how to speak TLS to it (None = plain HTTP)."""
        self._server, self._tls = server, tls
        self._disturbances: list[Disturbance] = []
        self._open: dict[int, tuple[web.BaseRequest, ApiCall]] = {}
        self._session: aiohttp.ClientSession | None = None
        self.url = ""
        """Where it listens."""
        self.asked: Counter[ApiCall] = Counter()
        """Requests that came, disturbed or not."""

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[None]:
        """Listen, with TLS if it is given, until the block ends."""
        runner = web.ServerRunner(
            web.Server(self._handle, handler_cancellation=True, access_log=None), shutdown_timeout=0.1
        )
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        ) as self._session:
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
                self.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
                yield
            finally:
                self.cut(Calls())
                await runner.cleanup()

    @contextlib.contextmanager
    def disturbed(self, disturbance: Disturbance) -> Iterator[Disturbance]:
        """Disturb requests for as long as a block runs."""
        self.begin(disturbance)
        try:
            yield disturbance
        finally:
            self.end(disturbance)

    def begin(self, disturbance: Disturbance) -> None:
        """Disturb requests from now on."""
        self._disturbances.append(disturbance)

    def end(self, disturbance: Disturbance) -> None:
        """Disturb them no longer."""
        self._disturbances.remove(disturbance)
        disturbance.is_over.set()

    def cut(self, calls: Calls) -> int:
        """Reset the connections of requests that are open now, watches among them; return how many."""
        found = [request for request, call in self._open.values() if calls.has(call)]
        for request in found:
            _reset(request)
        return len(found)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = read_call(request.method, request.path, request.query)
        self._open[id(request)] = (request, call)
        self.asked[call] += 1
        try:
            return await self._pass_on(request, call)
        except CutOff as cut:
            if cut.answer is not None:
                await _send_part(request, cut.answer, cut.sent)
        except (aiohttp.ClientError, ConnectionError):
            pass  # the server has gone, or the scheduler: the other one sees the same
        finally:
            del self._open[id(request)]
        _reset(request)
        raise asyncio.CancelledError  # there is nobody left to answer

    async def _pass_on(self, request: web.BaseRequest, call: ApiCall) -> web.StreamResponse:
        content = await request.read()
        taken = [each for each in self._disturbances if each.takes(call)]
        for each in taken:
            if (answer := await each.before()) is not None:
                return _response(answer._replace(headers={"Content-Type": "application/json", **answer.headers}))
        assert self._session is not None
        async with self._session.request(
            request.method,
            URL(self._server + request.raw_path, encoded=True),
            data=content or None,
            headers=[(name, value) for name, value in request.headers.items() if name.lower() not in _HOPS],
            skip_auto_headers=("Content-Type", "User-Agent", "Accept", "Accept-Encoding"),
            allow_redirects=False,
            ssl=self._tls or True,
        ) as upstream:
            headers = {name: value for name, value in upstream.headers.items() if name.lower() not in _HOPS}
            if call.verb == "watch" and upstream.status == 200:
                return await self._stream(request, call, upstream, headers)
            answer = Answer(upstream.status, await upstream.read(), headers)
        for each in taken:
            answer = await each.after(answer)
        return _response(answer)

    async def _stream(
        self, request: web.BaseRequest, call: ApiCall, upstream: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=200, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            async for content in upstream.content.iter_any():
                for each in tuple(self._disturbances):
                    if each.takes(call):
                        content = await each.piece(content)  # noqa: PLW2901  # one after the other
                await response.write(content)
        except EndsHere as end:
            await response.write(end.content)
        await response.write_eof()
        return response


@asynccontextmanager
async def proxy_of(cluster: LocalCluster, shown: str = "") -> AsyncIterator[FaultProxy]:
    """Give a proxy before the API server of a cluster.

    Args:
        cluster: the cluster.
        shown: whose certificate it shows, such as `scheduler`; empty = none, as for those who have tokens.
    """
    pki = cluster.folder / "pki"
    hosts = ("127.0.0.1", "localhost")
    pair = certificates.issue(certificates.read_pair(pki, "ca"), _NAME, hosts=hosts, is_server=True)
    pair.write(pki, _NAME)
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(pki / f"{_NAME}.crt", pki / f"{_NAME}.key")
    listening.set_alpn_protocols(["http/1.1"])
    speaking = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if shown:
        speaking.load_cert_chain(pki / f"{shown}.crt", pki / f"{shown}.key")
    proxy = FaultProxy(cluster.server, speaking)
    async with proxy.running(listening):
        yield proxy


def kubeconfig_through(proxy: FaultProxy, kubeconfig: Path, path: Path) -> Path:
    """Write a kubeconfig with another's credentials that leads through the proxy; return its path."""
    content = msgspec.yaml.decode(kubeconfig.read_bytes())
    for cluster in content["clusters"]:
        cluster["cluster"]["server"] = proxy.url
    write_private(path, msgspec.yaml.encode(content))
    return path


def _response(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


async def _send_part(request: web.BaseRequest, answer: Answer, count: int) -> None:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_length = len(answer.body)
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
        await response.write(answer.body[:count])


def _reset(request: web.BaseRequest) -> None:
    transport = request.transport
    if transport is None:
        return  # it is gone
    with contextlib.suppress(OSError, AttributeError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
