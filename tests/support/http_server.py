"""An HTTP server in this process for tests, which leaves no connection behind."""

import asyncio
import ssl

from aiohttp import web


class HttpServer:
    """Serves an application on the loopback address."""

    def __init__(self, app: web.Application, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        # One moment to end open requests: watches never end by themselves.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
        self._wanted_port, self._tls = port, tls

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._runner.addresses[0][1])

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._wanted_port, ssl_context=self._tls).start()

    async def stop(self) -> None:
        """Go away; open connections are cut, also those that still have something to send."""
        assert self._runner.server is not None
        transports = [one.transport for one in self._runner.server.connections if one.transport is not None]
        await self._runner.cleanup()
        for transport in transports:
            transport.abort()
        await asyncio.sleep(0)  # for what `abort` has scheduled
