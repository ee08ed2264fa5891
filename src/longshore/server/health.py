"""`/healthz`, `/readyz` and `/metrics` of a process, served inside the caller's event loop.

    async with HealthServer(metrics.registry, ready={"watch": why_not_synced}) as server:
        …                                  # server.address says where

A check returns None when all is well, else a sentence; the answer lists the failing ones. No signal is caught: ending
the process is its owner's business.
"""

import asyncio
from collections.abc import Callable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from longshore.server.serving import LOOPBACK, Server

MOST_CONNECTIONS = 32
"""Probes and some Prometheus servers; whoever opens more is sent away, and who says nothing is cut off."""

Check = Callable[[], str | None]
"""Returns None when all is well, else what is wrong, in a sentence."""


class HealthServer(Server):
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
        app = make_app(registry, ready or {}, healthy or {})
        super().__init__(app, "health", host=host, port=port, most_connections=MOST_CONNECTIONS)


def make_app(registry: CollectorRegistry, ready: Mapping[str, Check], healthy: Mapping[str, Check]) -> Starlette:
    """Return the application, without a server around it."""

    async def metrics(_: Request) -> Response:
        # Not in the event loop: a large page takes as long as several decisions.
        page = await asyncio.to_thread(generate_latest, registry)
        return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def healthz(_: Request) -> Response:
        return _answer(healthy)

    async def readyz(_: Request) -> Response:
        return _answer(ready)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])


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
