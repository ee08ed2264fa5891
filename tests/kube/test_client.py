"""The client: what it sends, what it makes of answers, how long it waits, and whom it trusts."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from longshore.kube import errors
from longshore.kube.client import Client
from longshore.kube.identity import Certificate, Credentials, FixedCredentials, Identity
from longshore_lab.cluster.certificates import KeyPair, issue, make_authority
from support.http_server import HttpServer
from support.kube_server import status

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = HttpServer(app, tls=tls)
    await server.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    finally:
        await server.stop()


class Rotating:
    """Credentials that change when the server did not take them."""

    def __init__(self) -> None:
        self.number = 1

    async def current(self) -> Credentials:
        return Credentials(f"token-{self.number}")

    def forget(self) -> None:
        self.number += 1


async def test_request_sends_method_path_query_and_body() -> None:
    seen = {}

    async def handler(request: web.Request) -> web.Response:
        seen.update(method=request.method, path=request.path, query=dict(request.query), body=await request.read())
        seen.update(kind=request.headers["Content-Type"], agent=request.headers["User-Agent"])
        return web.Response(body=b"the answer")

    async with serving(handler) as url, Client(Identity(url), user_agent="tester/1") as client:
        answer = await client.request("POST", "/api/v1/x", query={"a": "b=c&d"}, body={"k": [1]})
    assert answer == b"the answer"
    assert seen == {
        "method": "POST",
        "path": "/api/v1/x",
        "query": {"a": "b=c&d"},
        "body": b'{"k":[1]}',
        "kind": "application/json",
        "agent": "tester/1",
    }


async def test_request_sends_bytes_as_they_are() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await request.read() + request.headers["Content-Type"].encode())

    async with serving(handler) as url, Client(Identity(url)) as client:
        assert await client.request("PATCH", "/x", body=b"raw ", content_type="text/odd") == b"raw text/odd"


async def test_request_raises_what_the_server_says() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=409, body=status(409, "Conflict", "already bound"))

    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.Conflict, match=r"`POST /x` was answered with 409 Conflict: already bound"):
            await client.request("POST", "/x")


async def test_request_ends_in_time() -> None:
    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.Unreachable, match=r"no answer within 0\.05 s") as caught:
            await client.request("POST", "/x", timeout_seconds=0.05)
    assert caught.value.may_have_happened


async def test_request_that_never_left_cannot_have_happened() -> None:
    async with serving(sending()) as url:
        pass
    async with Client(Identity(url)) as client:
        with pytest.raises(errors.Unreachable) as caught:
            await client.request("POST", "/x")
    assert not caught.value.may_have_happened


async def test_request_whose_answer_is_lost_may_have_happened() -> None:
    async def handler(request: web.Request) -> web.Response:
        request.transport.abort()
        return web.Response()

    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.Unreachable) as caught:
            await client.request("POST", "/x")
    assert caught.value.may_have_happened


def busy_once(retry_after: str) -> tuple[Handler, list[str]]:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.method)
        if len(seen) > 1:
            return web.Response(body=b"done")
        return web.Response(status=429, body=status(429, "TooManyRequests"), headers={"Retry-After": retry_after})

    return handler, seen


async def test_request_that_can_be_repeated_waits_for_a_busy_server() -> None:
    handler, seen = busy_once("0")
    async with serving(handler) as url, Client(Identity(url)) as client:
        assert await client.request("GET", "/x") == b"done"
    assert seen == ["GET", "GET"]


async def test_request_that_cannot_be_repeated_does_not_wait() -> None:
    handler, seen = busy_once("0")
    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.TooManyRequests):
            await client.request("POST", "/x")
    assert seen == ["POST"]


async def test_request_does_not_wait_beyond_its_time() -> None:
    handler, _ = busy_once("50")
    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.request("GET", "/x", timeout_seconds=5)
    assert caught.value.retry_after == 50.0


async def test_request_shows_the_token() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"])

    identity = FixedCredentials(Credentials("secret"))
    async with serving(handler) as url, Client(Identity(url, identity)) as client:
        assert await client.request("GET", "/x") == b"Bearer secret"


async def test_request_is_repeated_with_new_credentials_when_the_old_ones_are_refused() -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.headers["Authorization"], await request.read()))
        if len(seen) == 1:
            return web.Response(status=401, body=status(401, "Unauthorized"))
        return web.Response(body=b"done")

    async with serving(handler) as url, Client(Identity(url, Rotating())) as client:
        assert await client.request("POST", "/x", body=b"write") == b"done"
    assert seen == [("Bearer token-1", b"write"), ("Bearer token-2", b"write")]


async def test_request_is_not_repeated_with_the_same_credentials() -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(status=401, body=status(401, "Unauthorized"))

    async with serving(handler) as url, Client(Identity(url, FixedCredentials(Credentials("old")))) as client:
        with pytest.raises(errors.Unauthorized, match="Unauthorized") as caught:
            await client.request("GET", "/x")
    assert len(seen) == 1
    assert "expired" in (caught.value.hint or "")


async def streamed(client: Client, **options: float) -> list[bytes]:
    return [line async for lines in client.stream("/x", {"watch": "1"}, **options) for line in lines]


def sending(*chunks: bytes, is_frozen: bool = False) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.005)
        if is_frozen:
            await asyncio.sleep(60)
        return response

    return handler


async def test_stream_gives_lines_whatever_the_pieces_in_which_they_arrive() -> None:
    async with serving(sending(b"on", b"e\ntwo\nth", b"ree\n", b"cut off")) as url, Client(Identity(url)) as client:
        assert await streamed(client) == [b"one", b"two", b"three"]


async def test_stream_gives_lines_of_any_length() -> None:
    long = b"x" * 3_000_000
    async with serving(sending(long + b"\nshort\n")) as url, Client(Identity(url)) as client:
        assert await streamed(client) == [long, b"short"]


async def test_stream_ends_when_nothing_arrives() -> None:
    async with serving(sending(b"one\n", is_frozen=True)) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.Silent, match=r"says nothing on `GET /x` for 0\.05 s"):
            await streamed(client, idle_seconds=0.05)


async def test_stream_raises_what_the_server_says() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=410, body=status(410, "Expired", "too old"))

    async with serving(handler) as url, Client(Identity(url)) as client:
        with pytest.raises(errors.Gone, match="too old"):
            await streamed(client)


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return make_authority("test authority")


def server_tls(authority: KeyPair, folder: Path) -> ssl.SSLContext:
    issue(authority, "server", hosts=("127.0.0.1",), is_server=True).write(folder, "server")
    authority.write(folder, "ca")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def test_client_shows_its_certificate_and_verifies_the_server(authority: KeyPair, tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        subject = request.transport.get_extra_info("peercert")["subject"]
        return web.Response(text=str(subject))

    mine = issue(authority, "longshore", is_client=True)
    credentials = FixedCredentials(Credentials(None, Certificate(mine.certificate, mine.key)))
    async with (
        serving(handler, server_tls(authority, tmp_path)) as url,
        Client(Identity(url, credentials, ca=authority.certificate)) as client,
    ):
        assert b"longshore" in await client.request("GET", "/x")


async def test_client_does_not_speak_to_a_server_that_it_does_not_trust(authority: KeyPair, tmp_path: Path) -> None:
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response()

    other = make_authority("another authority").certificate
    async with serving(handler, server_tls(authority, tmp_path)) as url:
        identity = Identity(url, FixedCredentials(Credentials("secret")), ca=other, source="context `c`")
        async with Client(identity) as client:
            with pytest.raises(errors.Unreachable, match="certificate cannot be verified") as caught:
                await client.request("POST", "/x")
    assert seen == []
    assert "context `c`" in (caught.value.hint or "")
    assert not caught.value.may_have_happened


async def test_client_leaves_no_connection_open(authority: KeyPair, tmp_path: Path) -> None:
    mine = issue(authority, "longshore", is_client=True)
    credentials = FixedCredentials(Credentials(None, Certificate(mine.certificate, mine.key)))
    async with serving(sending(b"one\n", is_frozen=True), server_tls(authority, tmp_path)) as url:
        async with (
            Client(Identity(url, credentials, ca=authority.certificate)) as client,
            contextlib.aclosing(client.stream("/x")) as stream,
        ):
            await anext(stream)
            made = list(client._sockets)
            assert [found.fileno() >= 0 for found in made] == [True]
        assert [found.fileno() for found in made] == [-1]


async def test_client_that_is_closed_says_so() -> None:
    client = Client(Identity("http://127.0.0.1:1"))
    with pytest.raises(RuntimeError, match="closed"):
        await client.request("GET", "/x")
