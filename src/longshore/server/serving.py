"""An application on a port, served inside the caller's event loop until it is closed.

No signal is caught: ending the process is its owner's business. A certificate that is renewed is shown from the next
connection on.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from longshore.core.words.errors import InputError
from longshore.kube.identity import Certificate, show_certificate

LOGGER = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
LOCAL = (LOOPBACK, "::1", "localhost")
BACKLOG = 64
MOST_CONNECTIONS = 32
"""Probes, some Prometheus servers, schedulers that fetch a model: each may hold a file or a page in memory."""
_QUESTION_SECONDS = 10.0
"""How long a new connection may take to ask, where their number is limited."""
_CONNECTION_SECONDS = 150.0
"""How long it may last in all: more than the plugin gives a bundle (`fetchTimeout` in registry_fetch.go)."""
_RENEWAL_SECONDS = 60.0
"""How often a certificate is looked at: it is renewed long before it ends."""


class Tls(NamedTuple):
    """What HTTPS is served with: files in PEM format."""

    certificate: Path
    key: Path

    def read(self) -> Certificate:
        """Return what the files hold."""
        return Certificate(self.certificate.read_bytes(), self.key.read_bytes())


def tls_of(certificate: Path | None, key: Path | None, options: str) -> Tls | None:
    """Return what HTTPS is to be served with, None for plain HTTP; `options` are the names of both.

    Raises:
        InputError: only one of them is given.
    """
    if certificate is not None and key is not None:
        return Tls(certificate, key)
    if certificate is not None or key is not None:
        raise InputError(f"got one of {options}, expected both", "give the other one, too")
    return None


class Server:
    """Serves an application until it is closed."""

    def __init__(
        self,
        app: ASGIApp,
        name: str,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        tls: Tls | None = None,
        most_connections: int | None = None,
    ) -> None:
        """Prepare; nothing listens before `start`.

        Args:
            app: answers the questions.
            name: what the log calls it.
            host: address to listen on; only this machine by default.
            port: 0 = any free one.
            tls: None = plain HTTP.
            most_connections: more than these at once are answered with 503, and each must ask soon and end; None = any
                number, for as long as they like.

        Raises:
            InputError: the certificate or its key cannot be used.
        """
        self._name = name
        self._host = host
        self._port = port
        self._tls = tls
        config = _config(app, tls, most_connections)
        self._context = config.ssl
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._port

    @property
    def address(self) -> str:
        """Where to ask, such as `http://127.0.0.1:10351`."""
        scheme = "https" if self.has_tls else "http"
        return f"{scheme}://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    @property
    def has_tls(self) -> bool:
        """Whether it speaks HTTPS."""
        return self._tls is not None

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can ask."""
        return self._host not in LOCAL

    async def start(self) -> None:
        """Listen.

        Raises:
            InputError: the address cannot be listened on.
        """
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name=self._name)
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            self._task.result()
        if self._tls is not None and self._context is not None:
            self._renewing = asyncio.create_task(
                self._renew(self._tls, self._context), name=f"{self._name} certificate"
            )
        LOGGER.info("%s: listening address=%s", self._name, self.address)

    async def close(self) -> None:
        """Stop listening; questions that are being answered are answered."""
        if self._renewing is not None:
            self._renewing.cancel()
        self._server.should_exit = True
        if self._task is not None:
            await self._task

    async def _renew(self, tls: Tls, context: ssl.SSLContext) -> None:
        """Show the certificate that is in the files now; one that is half there or wrong is left alone, and said."""
        shown = seen = None
        while True:
            try:
                found = await asyncio.to_thread(tls.read)
                if found not in (shown, seen):
                    seen = found
                    # A context of its own first: one that fails half-way shows neither the old nor the new one.
                    show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), found, f"`{tls.certificate}`")
                    show_certificate(context, found, f"`{tls.certificate}`")
                    if shown is not None:
                        LOGGER.info("%s: shows a renewed certificate file=%s", self._name, tls.certificate)
                    shown = found
            except (OSError, InputError) as error:
                LOGGER.warning("%s: goes on with its certificate reason=%r", self._name, str(error))
            await asyncio.sleep(_RENEWAL_SECONDS)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _config(app: ASGIApp, tls: Tls | None, most_connections: int | None) -> uvicorn.Config:
    # No logging set up here: the process has its own.
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="off",
        http="auto" if most_connections is None else _BriefProtocol,
        ws="none",
        timeout_graceful_shutdown=2,
        # uvicorn counts the connection that asks, too, and sends away from its limit on.
        limit_concurrency=None if most_connections is None else most_connections + 1,
        ssl_certfile=None if tls is None else tls.certificate,
        ssl_keyfile=None if tls is None else tls.key,
    )
    try:
        config.load()  # here, so that a wrong certificate is said at once
    except OSError as error:  # SSL's errors are some, too
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot use the certificate `{tls and tls.certificate}` with the key `{tls and tls.key}`: {reason}",
            "give both as PEM files; the certificate's chain in one file, the server's own first",
        ) from error
    return config


class _Server(uvicorn.Server):
    """A server that leaves signals to the process it lives in."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen as uvicorn does, and give who does not get as far as TLS no more time than who asks nothing."""
        config, loop = self.config, asyncio.get_running_loop()

        def make_protocol() -> asyncio.Protocol:
            return config.http_protocol_class(config=config, server_state=self.server_state, app_state={})  # type: ignore[call-arg]

        seconds = None if config.ssl is None else _QUESTION_SECONDS
        self.servers = [
            await loop.create_server(
                make_protocol, sock=each, ssl=config.ssl, backlog=BACKLOG, ssl_handshake_timeout=seconds
            )
            for each in sockets or ()
        ]
        self.started = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _BriefProtocol(H11Protocol):
    """A connection that ends after a while, whatever the other side does.

    uvicorn waits for ever for a question, and for who does not read the answer: machines that were switched off, which
    say nothing, would take up one place of the limit after the other.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ends = (
            self.loop.call_later(_QUESTION_SECONDS, self._end_silent),
            self.loop.call_later(_CONNECTION_SECONDS, transport.abort),
        )

    def connection_lost(self, exc: Exception | None) -> None:
        for end in self._ends:
            end.cancel()
        super().connection_lost(exc)

    def _end_silent(self) -> None:
        if getattr(self, "cycle", None) is None:  # nothing was asked yet
            self.transport.abort()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {reason}", "give another port; 0 takes any that is free"
        ) from error
