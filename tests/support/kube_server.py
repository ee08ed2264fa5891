"""An API server in this process for tests of the watch: it keeps a history of pods, and can be told to misbehave.

What is scripted answers the next requests of its kind, once; after that the server tells the truth again. So a test
says what goes wrong, and then compares what the cache has with a fresh list.
"""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from support.http_server import HttpServer

PATH = "/api/v1/pods"


@dataclass(frozen=True)
class Answer:
    """An answer that is no list and no watch: an error, or bytes that make no sense."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Frames:
    """A watch that sends these bytes and then ends: properly, by a reset, or never (frozen)."""

    frames: tuple[bytes, ...]
    ending: str = "close"


def status(code: int, reason: str, message: str = "scripted") -> bytes:
    """Write a Status object."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return json.dumps(body | {"message": message}).encode()


def event(kind: str, thing: dict[str, Any]) -> bytes:
    """Write a line of a watch."""
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


def error_event(code: int, reason: str) -> bytes:
    """Write the line by which a server ends a watch."""
    return event("ERROR", json.loads(status(code, reason)))


class ApiServer:
    """Serves pods; everything about it can be read and changed from a test."""

    def __init__(self, *, has_streaming_lists: bool = True) -> None:
        self.has_streaming_lists = has_streaming_lists
        self.version = 100
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.compacted_to = 0
        self.requests: list[dict[str, str]] = []
        self.scripted_lists: deque[Answer] = deque()
        self.scripted_watches: deque[Answer | Frames] = deque()
        self.port = 0
        self._http: HttpServer | None = None
        self._news = asyncio.Event()
        self._bookmarks = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def put(self, name: str, **fields: Any) -> dict[str, Any]:
        """Make a pod or change it; returns it as it travels."""
        self.version += 1
        before = self.objects.get(name)
        meta = {
            "name": name,
            "namespace": "default",
            "uid": before["metadata"]["uid"] if before else f"u{self.version}",
        }
        meta |= {"resourceVersion": str(self.version), "labels": fields.pop("labels", {"app": "x"})}
        thing = {"metadata": meta, "spec": {"containers": [{"name": "c"}], **fields}, "status": {"phase": "Running"}}
        self.objects[name] = thing
        self._happened("MODIFIED" if before else "ADDED", thing)
        return thing

    def delete(self, name: str) -> dict[str, Any]:
        """Delete a pod; returns it as the event shows it."""
        self.version += 1
        thing = self.objects.pop(name)
        last = thing | {"metadata": thing["metadata"] | {"resourceVersion": str(self.version)}}
        self._happened("DELETED", last)
        return last

    def compact(self) -> None:
        """Forget the history, as etcd does after some minutes."""
        self.compacted_to = self.version
        self.history.clear()

    def bookmark(self) -> None:
        """Send a bookmark to every watch."""
        self._bookmarks += 1
        self._wake()

    async def start(self) -> None:
        """Listen; on the same port as before, if there was one."""
        app = web.Application()
        app.router.add_get(PATH, self._serve)
        await self.listen(app)

    async def listen(self, app: web.Application) -> None:
        """Serve an application; on the same port as before, if there was one."""
        self._http = HttpServer(app, self.port)
        await self._http.start()
        self.port = self._http.port

    async def stop(self) -> None:
        """Go away; open watches are cut."""
        assert self._http is not None
        await self._http.stop()

    def _happened(self, kind: str, thing: dict[str, Any]) -> None:
        self.history.append((self.version, kind, thing))
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        self.requests.append(query)
        scripts: deque[Any] = self.scripted_watches if "watch" in query else self.scripted_lists
        script = scripts.popleft() if scripts else None
        if isinstance(script, Answer):
            return web.Response(status=script.status, body=script.body, headers=script.headers)
        if "watch" not in query:
            return self._list(query)
        if "sendInitialEvents" in query and not self.has_streaming_lists:
            return web.Response(status=422, body=status(422, "Invalid", "sendInitialEvents is forbidden"))
        if script is None and "sendInitialEvents" not in query and int(query["resourceVersion"]) < self.compacted_to:
            return web.Response(status=410, body=status(410, "Expired"))
        response = web.StreamResponse()
        await response.prepare(request)
        if isinstance(script, Frames):
            await self._play(request, response, script)
        else:
            await self._watch(response, query)
        return response

    def _list(self, query: dict[str, str]) -> web.Response:
        version, _, start = query.get("continue", f"{self.version}:0").partition(":")
        if int(version) < self.compacted_to:
            return web.Response(status=410, body=status(410, "Expired", "the continue token is too old"))
        limit, names = int(query.get("limit", "500")), sorted(self.objects)
        page = [self.objects[name] for name in names[int(start) : int(start) + limit]]
        more = int(start) + limit < len(names)
        meta = {"resourceVersion": version} | ({"continue": f"{version}:{int(start) + limit}"} if more else {})
        return web.json_response({"kind": "PodList", "metadata": meta, "items": page})

    async def _play(self, request: web.Request, response: web.StreamResponse, script: Frames) -> None:
        for frame in script.frames:
            await response.write(frame)
            await asyncio.sleep(0)
        if script.ending == "reset":
            assert request.transport is not None
            request.transport.abort()
        elif script.ending == "freeze":
            await asyncio.Event().wait()

    async def _watch(self, response: web.StreamResponse, query: dict[str, str]) -> None:
        if "sendInitialEvents" in query:
            for name in sorted(self.objects):
                await response.write(event("ADDED", self.objects[name]))
            notes = {"k8s.io/initial-events-end": "true"}
            await response.write(event("BOOKMARK", _bookmark(self.version, notes)))
            seen = self.version
        else:
            seen = int(query["resourceVersion"])
        bookmarks = self._bookmarks
        while True:
            news = self._news
            for version, kind, thing in [item for item in self.history if item[0] > seen]:
                await response.write(event(kind, thing))
                seen = version
            if bookmarks != self._bookmarks:
                bookmarks = self._bookmarks
                await response.write(event("BOOKMARK", _bookmark(self.version)))
            await news.wait()


def _bookmark(version: int, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"resourceVersion": str(version), "annotations": annotations}}


@contextlib.asynccontextmanager
async def running(server: ApiServer) -> AsyncIterator[ApiServer]:
    """Run a server for the length of a test."""
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def until(is_so: Callable[[], bool], what: str = "the condition", seconds: float = 60.0) -> None:
    """Wait until something is so, and fail if it never is."""
    try:
        async with asyncio.timeout(seconds):
            while not is_so():
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"{what} did not come true within {seconds} s") from None
