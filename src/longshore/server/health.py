"""`/healthz`, `/readyz` and `/metrics` of a process, served inside the caller's event loop.

    async with HealthServer(metrics.registry, ready={"watch": why_not_synced}) as server:
        …                                  # server.address says where

A check returns None when all is well, else a sentence; the answer lists the failing ones. No signal is caught: ending
the process is its owner's business.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator, Mapping

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from longshore.core.errors import InputError

LOGGER = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""Returns None when all is well, else what is wrong, in a sentence."""

LOOPBACK = "127.0.0.1"
BACKLOG = 64


class HealthServer:
    """Serves a process's health until it is closed."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        ready: Mapping[str, Check] | None = None,
        healthy: Mapping[str, Check] | None = None,
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        """Prepare; nothing listens before `start`.

        Args:
            registry: what `/metrics` shows.
            ready: checks of `/readyz`, by name: may this process be given work?
            healthy: checks of `/healthz`, by name: should it be restarted?
            host: address to listen on; only this machine by default.
            port: 0 = any free one.
        """
        self._host = host
        self._port = port
        self._server = _Server(_config(make_app(registry, ready or {}, healthy or {})))
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._port

    @property
    def address(self) -> str:
        """Where to ask, such as `http://127.0.0.1:10351`."""
        return f"http://[{self._host}]:{self._port}" if ":" in self._host else f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            InputError: the address cannot be listened on.
        """
        listener = _listen(self._host, self._port)
        self._port = listener.getsockname()[1]
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name="health")
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            self._task.result()
        LOGGER.info("health: listening address=%s", self.address)

    async def close(self) -> None:
        """Stop listening; questions that are being answered are answered."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task

    async def __aenter__(self) -> "HealthServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def make_app(registry: CollectorRegistry, ready: Mapping[str, Check], healthy: Mapping[str, Check]) -> Starlette:
    """Return the application, without a server around it."""

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def healthz(_: Request) -> Response:
        return _answer(healthy)

    async def readyz(_: Request) -> Response:
        return _answer(ready)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])


def _config(app: Starlette) -> uvicorn.Config:
    # No logging set up here: the process has its own.
    return uvicorn.Config(
        app, access_log=False, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=2
    )


class _Server(uvicorn.Server):
    """A server that leaves signals to the process it lives in."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _answer(checks: Mapping[str, Check]) -> Response:
    """Answer `ok`, or 503 with every check, the failing ones with their reasons."""
    results = {name: _ask(check) for name, check in checks.items()}
    if not any(results.values()):
        return PlainTextResponse("ok\n")
    lines = [f"[-] {name}: {reason}" if reason else f"[+] {name}" for name, reason in results.items()]
    return PlainTextResponse("\n".join(lines) + "\n", status_code=503)


def _ask(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that fails is an answer, and no reason to fail ourselves
        return f"the check failed: {type(error).__name__}: {error}"


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
