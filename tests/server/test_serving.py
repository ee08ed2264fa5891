"""An application on a port: plain and by TLS, and what cannot be listened on or served with is a sentence."""

import asyncio
import contextlib
import socket
import ssl
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from longshore.core.words.errors import InputError
from longshore.server import serving
from longshore.server.serving import Server, Tls
from longshore_lab.cluster.certificates import issue, make_authority

AUTHORITY = make_authority("tests")


def app() -> Starlette:
    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/", hello)])


def write_certificate(folder: Path, name: str = "localhost") -> Tls:
    made = Tls(folder / "tls.crt", folder / "tls.key")
    pair = issue(AUTHORITY, name, hosts=("localhost",), is_server=True)
    made.certificate.write_bytes(pair.certificate)
    made.key.write_bytes(pair.key)
    return made


def trust() -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30, context=trust()) as answer:
        return str(answer.read().decode())


def shown_to(port: int) -> bytes:
    """Return the certificate that a new connection is shown."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        trust().wrap_socket(plain, server_hostname="localhost") as made,
    ):
        return made.getpeercert(binary_form=True) or b""


async def test_it_answers_until_it_is_closed() -> None:
    async with Server(app(), "hello") as server:
        assert await asyncio.to_thread(fetch, server.address) == "hello"
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(fetch, server.address)


async def test_it_speaks_tls(tmp_path: Path) -> None:
    tls = write_certificate(tmp_path)
    async with Server(app(), "hello", tls=tls) as server:
        assert server.address == f"https://127.0.0.1:{server.port}"
        assert await asyncio.to_thread(fetch, f"https://localhost:{server.port}") == "hello"


async def test_a_renewed_certificate_is_shown_and_half_of_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "_RENEWAL_SECONDS", 0.02)
    tls = write_certificate(tmp_path)
    async with Server(app(), "hello", tls=tls) as server:
        old = await asyncio.to_thread(shown_to, server.port)
        new = issue(AUTHORITY, "renewed", hosts=("localhost",), is_server=True)
        tls.certificate.write_bytes(new.certificate)
        await until(lambda: "goes on with its certificate" in caplog.text)
        assert await asyncio.to_thread(shown_to, server.port) == old, "the key is not there yet"
        tls.key.write_bytes(new.key)
        expected = ssl.PEM_cert_to_DER_cert(new.certificate.decode())
        ends = time.monotonic() + 30
        while await asyncio.to_thread(shown_to, server.port) != expected:
            assert time.monotonic() < ends
        assert await asyncio.to_thread(fetch, f"https://localhost:{server.port}") == "hello"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_who_does_not_get_as_far_as_tls_is_cut_off_and_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_QUESTION_SECONDS", 1.0)
    made = Server(app(), "hello", tls=write_certificate(tmp_path), most_connections=1)
    async with made as server, connection(server) as (reader, _):
        assert await asyncio.to_thread(fetch, f"https://localhost:{server.port}") == "hello"
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 20) == b""


def test_a_certificate_that_is_none_is_said_before_anything_listens(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("none")
    with pytest.raises(InputError, match="cannot use the certificate"):
        Server(app(), "hello", tls=Tls(tmp_path / "tls.crt", tmp_path / "missing.key"))


@contextlib.asynccontextmanager
async def connection(server: Server) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def fetch_once_there_is_room(server: Server, seconds: float = 30.0) -> str:
    """Ask until the connection before is gone, which takes as long as a busy machine takes."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                return await asyncio.to_thread(fetch, server.address)
            except OSError as error:
                assert "503" in str(error)
            await asyncio.sleep(0.05)


async def test_a_port_in_use_is_a_sentence() -> None:
    async with Server(app(), "hello") as first:
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {first.port}"):
            await Server(app(), "second", port=first.port).start()


async def test_more_connections_than_allowed_are_sent_away() -> None:
    async with Server(app(), "hello", most_connections=1) as server:
        assert await asyncio.to_thread(fetch, server.address) == "hello"
        async with connection(server) as (reader, writer):  # asks nothing, but is there
            with pytest.raises(OSError, match="503"):
                await asyncio.to_thread(fetch, server.address)
            writer.close()
            assert await reader.read() == b""


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nX-Slow: "], ids=["nothing", "half a question"])
async def test_who_does_not_ask_does_not_keep_others_out(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_QUESTION_SECONDS", 0.1)
    async with Server(app(), "hello", most_connections=1) as server, connection(server) as (reader, writer):
        writer.write(said)
        assert await asyncio.wait_for(reader.read(), 30) == b""
        monkeypatch.undo()  # whoever comes now has the usual time, however busy the machine is
        assert await asyncio.to_thread(fetch, server.address) == "hello"


async def test_who_does_not_read_the_answer_does_not_keep_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def much(_: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * 50_000_000)

    monkeypatch.setattr(serving, "_CONNECTION_SECONDS", 1.0)
    bulky = Starlette(routes=[Route("/", much)])
    async with Server(bulky, "much", most_connections=1) as server, connection(server) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        monkeypatch.undo()
        assert len(await fetch_once_there_is_room(server)) == 50_000_000


async def test_a_question_in_time_is_answered_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(_: Request) -> PlainTextResponse:
        await asyncio.sleep(2.5)
        return PlainTextResponse("at last")

    monkeypatch.setattr(serving, "_QUESTION_SECONDS", 2.0)
    async with Server(Starlette(routes=[Route("/", slow)]), "slow", most_connections=1) as server:
        assert await asyncio.to_thread(fetch, server.address) == "at last"
