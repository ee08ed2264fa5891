"""An application from a table of routes: here a question finds its handler, rights are checked and errors answered.

A handler is a function of the service that it speaks for and of the question; `routes.py` has the table. One that waits
for a disk or a database is a plain function and runs in a thread; a coroutine runs in the event loop.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
from starlette import routing
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from longshore.core.words.errors import InputError, LongshoreError
from longshore.server.rights import Access, Right

LOGGER = logging.getLogger(__name__)

MAX_BODY_BYTES = 8 * 1024**2
"""A pod is 1.5 MiB at most, and the names of 5,000 nodes are far less than one."""


class Question(NamedTuple):
    """What is asked."""

    path: Mapping[str, str]
    """The parts of the path that the route has in braces."""
    headers: Mapping[str, str]
    content: Any = None
    """Of the route's request type; None where it has none."""


class Problem(msgspec.Struct, omit_defaults=True):
    """Why a question is not answered, for who accepts JSON; others get `error` as text."""

    error: str
    hint: str | None = None


@dataclass(frozen=True)
class Route:
    """A line of the table: who may ask what where, and which function answers."""

    method: str
    path: str
    right: Right
    request: Any
    """A struct, of the body as JSON; with GET its fields are parameters of the query. None = nothing is read."""
    response: Any
    """`str` = plain text, `bytes` = a file, all others are JSON."""
    handler: Callable[[Any, Question], Any]
    """Returns what is sent as JSON, or a whole `Response`."""

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def has_body(self) -> bool:
        """Whether what is read is the body."""
        return self.request is not None and self.method != "GET"


Table = Mapping[str, tuple[Route, ...]]
"""Routes by the name of the service that their handlers speak for."""
_Answer = Callable[[Request], Awaitable[Response]]


def build_app(table: Table, services: Mapping[str, Any], access: Access) -> Starlette:
    """Return the application that answers a table's questions, without a server around it."""
    answers: dict[str, dict[str, _Answer]] = {}
    for name, routes in table.items():
        for route in routes:
            answers.setdefault(route.path, {})[route.method] = partial(_answer, route, services[name], access)
    app = Starlette(
        # One for all methods of a path: who asks by another one is told all that there are.
        routes=[
            routing.Route(path, partial(_choose, methods), methods=[*methods]) for path, methods in answers.items()
        ],
        exception_handlers={HTTPException: _refuse, LongshoreError: _fail},
    )
    app.router.redirect_slashes = False  # who fetches models does not follow redirects
    return app


async def _choose(methods: Mapping[str, _Answer], request: Request) -> Response:
    return await methods["GET" if request.method == "HEAD" else request.method](request)


async def _answer(route: Route, service: Any, access: Access, request: Request) -> Response:
    await access.check(route.right, request)
    question = Question(request.path_params, request.headers, await _content(route, request))
    if inspect.iscoroutinefunction(route.handler):
        found = await route.handler(service, question)
    else:
        found = await run_in_threadpool(route.handler, service, question)
    return found if isinstance(found, Response) else _json(found)


async def _content(route: Route, request: Request) -> Any:
    if route.request is None:
        return None
    try:
        if route.has_body:
            return msgspec.json.decode(await _body(request), type=route.request)
        return msgspec.convert(dict(request.query_params), route.request, strict=False)
    except msgspec.MsgspecError as error:
        raise InputError(f"got what `{route.method} {route.path}` does not take: {error}") from error


async def _body(request: Request) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MAX_BODY_BYTES:
            raise HTTPException(413, f"got more than {MAX_BODY_BYTES} bytes")
    return bytes(data)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(request, error.status_code, Problem(error.detail), error.headers)


async def _fail(request: Request, error: Exception) -> Response:
    if isinstance(error, InputError):
        return _problem(request, 400, Problem(error.message, error.hint))
    # Where a store is and why it does not answer is the log's business, not that of whoever asks.
    LOGGER.error("server: cannot answer path=%r reason=%r", request.url.path, str(error))
    return _problem(request, 503, Problem("this cannot be answered now; the server's log says why"))


def _problem(request: Request, status: int, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    if "application/json" in request.headers.get("accept", ""):
        return _json(problem, status, headers)
    return PlainTextResponse(f"{problem.error}\n", status, headers)


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")
