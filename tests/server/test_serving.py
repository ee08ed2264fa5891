"""An application on a port: plain and by TLS, and what cannot be listened on or served with is a sentence."""

import asyncio
import contextlib
import datetime
import ssl
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from longshore.core.words.errors import InputError
from longshore.server import serving
from longshore.server.serving import Server, Tls


def app() -> Starlette:
    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/", hello)])


def write_certificate(folder: Path) -> Tls:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    made = Tls(folder / "tls.crt", folder / "tls.key")
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    made.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return made


def fetch(url: str, trusted: Path | None = None) -> str:
    context = None if trusted is None else ssl.create_default_context(cafile=trusted)
    with urllib.request.urlopen(url, timeout=30, context=context) as answer:
        return str(answer.read().decode())


async def test_it_answers_until_it_is_closed() -> None:
    async with Server(app(), "hello") as server:
        assert await asyncio.to_thread(fetch, server.address) == "hello"
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(fetch, server.address)


async def test_it_speaks_tls(tmp_path: Path) -> None:
    tls = write_certificate(tmp_path)
    async with Server(app(), "hello", tls=tls) as server:
        assert server.address == f"https://127.0.0.1:{server.port}"
        address = f"https://localhost:{server.port}"
        assert await asyncio.to_thread(fetch, address, tls.certificate) == "hello"


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
