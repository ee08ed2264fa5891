"""An application on a port: plain and by TLS, and what cannot be listened on or served with is a sentence."""

import asyncio
import datetime
import ssl
import urllib.request
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

from longshore.core.errors import InputError
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
    with urllib.request.urlopen(url, timeout=5, context=context) as answer:
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


async def test_a_port_in_use_is_a_sentence() -> None:
    async with Server(app(), "hello") as first:
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {first.port}"):
            await Server(app(), "second", port=first.port).start()


async def test_more_connections_than_allowed_are_sent_away() -> None:
    async with Server(app(), "hello", most_connections=1) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)  # asks nothing, but is there
        with pytest.raises(OSError, match="503"):
            await asyncio.to_thread(fetch, server.address)
        writer.close()
        assert await reader.read() == b""
