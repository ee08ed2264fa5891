"""The one way to the API server: requests and watch streams over kept-alive connections, without a rate limiter.

The server's own priority and fairness is the limit; where it says 429, requests that can be repeated wait and repeat.
"""

import asyncio
import socket
import weakref
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import msgspec
from yarl import URL

from longshore import __version__
from longshore.core.words.errors import LongshoreError
from longshore.kube import errors
from longshore.kube.identity import Certificate, Credentials, Identity

if TYPE_CHECKING:
    import ssl

MERGE = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
"""The content type of a patch that knows the keys of lists (conditions by their type)."""
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""What a watcher accepts who reads names alone: the server writes a tenth of it."""

_REPEATABLE = ("GET", "PUT", "DELETE")
_FIRST_WAIT_SECONDS = 1.0
# A peer that is gone without a word (a machine switched off) is found out in about 30 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
_CLOSING_STEPS, _CLOSING_STEP_SECONDS = 200, 0.005
_encode = msgspec.json.Encoder().encode


class Client:
    """Speaks to one API server as one identity; `async with Client(identity) as client`."""

    def __init__(
        self,
        identity: Identity,
        *,
        user_agent: str = f"longshore/{__version__}",
        max_connections: int = 100,
        accept: str = "application/json",
    ) -> None:
        """Take whom to speak to and as whom; `accept` may ask for less of every object (`METADATA_ONLY`)."""
        self.identity = identity
        self._max_connections = max_connections
        # No compression: the list of a large cluster costs more time to pack and unpack than to send.
        self._plain = {"User-Agent": user_agent, "Accept": accept, "Accept-Encoding": "identity"}
        self._session: aiohttp.ClientSession | None = None
        self._shown: tuple[str | None, Certificate | None] | None = None
        self._headers = self._plain
        self._tls: ssl.SSLContext | bool = True
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            limit=self._max_connections, keepalive_timeout=90, ttl_dns_cache=60, socket_factory=self._open_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, and wait until they are: TLS says goodbye first, which aiohttp does not wait for."""
        if self._session is None:
            return
        await self._session.close()
        self._session = None
        for _ in range(_CLOSING_STEPS):
            if all(made.fileno() < 0 for made in self._sockets):
                return
            await asyncio.sleep(_CLOSING_STEP_SECONDS)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout_seconds: float = 30.0,
    ) -> bytes:
        """Send a request and return the body of the answer; a body that is not bytes is encoded as JSON.

        Requests that can be repeated (GET, PUT, DELETE) wait as long as a 429 asks for, within the time-out.

        Raises:
            ApiError: the server refused, or there was no answer within `timeout_seconds`.
        """
        data = body if body is None or isinstance(body, bytes) else _encode(body)
        asked = f"{method} {path}"
        try:
            async with asyncio.timeout(timeout_seconds) as deadline:
                while True:
                    try:
                        async with await self._send(method, path, query, data, content_type) as answer:
                            content = await answer.read()
                            if answer.status < 300:
                                return content
                            raise errors.from_answer(answer.status, content, asked, answer.headers.get("Retry-After"))
                    except errors.TooManyRequests as error:
                        wait = _FIRST_WAIT_SECONDS if error.retry_after is None else error.retry_after
                        if method not in _REPEATABLE or _ends_within(deadline, wait):
                            raise
                        await asyncio.sleep(wait)
        except TimeoutError as error:
            raise self._unreachable(asked, f"no answer within {timeout_seconds:g} s") from error
        except aiohttp.ClientError as error:
            raise self._broken(asked, error) from error

    async def stream(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        idle_seconds: float = 120.0,
        answer_seconds: float = 30.0,
    ) -> AsyncIterator[list[bytes]]:
        """Yield the lines of an endless answer (a watch) until the server ends it, in the batches in which they arrive.

        A line that the end of the stream cuts off is not given out. Whoever stops early closes the iterator
        (`contextlib.aclosing`), so that the connection is closed at once.

        Raises:
            ApiError: the server refused, the connection broke, or nothing arrived for `idle_seconds`.
        """
        asked = f"GET {path}"
        try:
            try:
                async with asyncio.timeout(answer_seconds):
                    answer = await self._send("GET", path, query, None, "")
                    content = b"" if answer.status < 300 else await answer.read()
            except TimeoutError as error:
                raise self._unreachable(asked, f"no answer within {answer_seconds:g} s") from error
            try:
                if answer.status >= 300:
                    raise errors.from_answer(answer.status, content, asked, answer.headers.get("Retry-After"))
                rest = b""
                while True:
                    async with asyncio.timeout(idle_seconds):
                        chunk = await answer.content.readany()
                    if not chunk:
                        return
                    # Not by aiohttp's own lines: it refuses those of large objects.
                    *lines, rest = (rest + chunk).split(b"\n")
                    if lines:
                        yield lines
            finally:
                if answer.connection is not None and answer.connection.transport is not None:
                    answer.connection.transport.abort()  # nobody needs a goodbye on a stream that has no end
                answer.close()
        except TimeoutError as error:
            message = f"the API server at {self.identity.server} says nothing on `{asked}` for {idle_seconds:g} s"
            raise errors.Silent(message) from error
        except aiohttp.ClientError as error:
            raise self._broken(asked, error) from error

    async def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, data: bytes | None, content_type: str
    ) -> aiohttp.ClientResponse:
        """Send once; once more with fresh credentials where the server does not take them."""
        answer = await self._send_once(method, path, query, data, content_type)
        if answer.status != 401:
            return answer
        before = self._shown
        self.identity.credentials.forget()
        if await self._credentials() == before:
            return answer
        answer.release()
        # A refused request did nothing, so asking again is safe for any method.
        return await self._send_once(method, path, query, data, content_type)

    async def _send_once(
        self, method: str, path: str, query: Mapping[str, str] | None, data: bytes | None, content_type: str
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client is closed; use it inside `async with Client(…)`")
        shown = await self._credentials()
        if shown != self._shown:
            self._show(*shown)
        url = URL(self.identity.server + path, encoded=True)
        headers = self._headers if data is None else {**self._headers, "Content-Type": content_type}
        return await self._session.request(
            method,
            url.with_query(query) if query else url,
            data=data,
            headers=headers,
            allow_redirects=False,
            ssl=self._tls,
            server_hostname=self.identity.tls_server_name,
        )

    async def _credentials(self) -> Credentials:
        try:
            return await self.identity.credentials.current()
        except LongshoreError as error:
            # Whoever asks the server is ready for one that cannot be reached, and for nothing else.
            message = f"the API server at {self.identity.server} was not asked: {error.message}"
            raise errors.NoCredentials(message, error.hint) from error

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):  # Linux has them all
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._sockets.add(made)
        return made

    def _show(self, token: str | None, certificate: Certificate | None) -> None:
        """Take over new credentials; connections made with an old certificate are not used for new requests."""
        if self.identity.server.startswith("https:") and (
            self._tls is True or (self._shown or ())[1:] != (certificate,)
        ):
            try:
                self._tls = self.identity.tls(certificate)
            except LongshoreError as error:
                raise errors.NoCredentials(error.message, error.hint) from error
        self._headers = self._plain if token is None else {**self._plain, "Authorization": f"Bearer {token}"}
        self._shown = (token, certificate)

    def _broken(self, asked: str, error: aiohttp.ClientError) -> errors.Unreachable:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            hint = f"the certificate authority of {self.identity.source} is not that of this server"
            reason = f"its certificate cannot be verified: {error.certificate_error}"
            return self._unreachable(asked, reason, hint, was_sent=False)
        if isinstance(error, aiohttp.ClientConnectorError):
            # Its own text names a Python object; that of the system's error says what happened.
            reason = error.os_error.strerror or str(error.os_error) or type(error).__name__
            return self._unreachable(asked, f"cannot connect: {reason}", was_sent=False)
        return self._unreachable(asked, str(error) or type(error).__name__)

    def _unreachable(
        self, asked: str, reason: str, hint: str | None = None, *, was_sent: bool = True
    ) -> errors.Unreachable:
        message = f"the API server at {self.identity.server} did not answer `{asked}`: {reason}"
        return errors.Unreachable(message, hint, was_sent=was_sent)


def _ends_within(deadline: asyncio.Timeout, seconds: float) -> bool:
    ends = deadline.when()
    return ends is not None and asyncio.get_running_loop().time() + seconds >= ends
