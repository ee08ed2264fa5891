"""Models over HTTP, for schedulers that take them by address. Nothing can be changed here.

    GET /models/NAME/WHICH/             manifest: name, version, SHA-256 and size of every file, as JSON
    GET /models/NAME/WHICH/manifest.json    the same
    GET /models/NAME/WHICH/FILE         a file of the bundle
    GET /healthz                        200 while it runs

WHICH is a version or an alias such as `live`. Answers have an ETag, so that asking again costs nothing while nothing
has changed. Names are looked up in the store and never become paths. A web server with the same files in a folder is as
good: `longshore models pull NAME WHICH FOLDER --with-manifest` writes it.
"""

import hashlib
import hmac
import logging
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from longshore.core.words.errors import InputError, LongshoreError
from longshore.server.serving import LOOPBACK, Server, Tls
from longshore.store.models import MANIFEST_FILE, ModelRegistry, ModelVersion

LOGGER = logging.getLogger(__name__)

_MOST_AT_ONCE = 32
"""Connections; each may hold a file in memory."""
_MOST_TOKEN_BYTES = 4096
_KINDS = {".json": "application/json", ".md": "text/markdown; charset=utf-8"}


class ModelServer(Server):
    """Serves a registry until it is closed."""

    def __init__(
        self,
        registry: ModelRegistry,
        *,
        token_file: Path | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        tls: Tls | None = None,
    ) -> None:
        """Prepare; nothing listens before `start`.

        Args:
            registry: what is served.
            token_file: who asks must know what it holds (`Authorization: Bearer …`); None = anybody may ask.
            host: address to listen on; only this machine by default.
            port: 0 = any free one.
            tls: None = plain HTTP.

        Raises:
            InputError: the token, the certificate or its key cannot be used.
        """
        if token_file is not None:
            read_token(token_file)
        app = make_app(registry, token_file)
        super().__init__(app, "models", host=host, port=port, tls=tls, most_connections=_MOST_AT_ONCE)


def make_app(registry: ModelRegistry, token_file: Path | None = None) -> Starlette:
    """Return the application, without a server around it."""

    def answer(request: Request) -> Response:
        if token_file is not None and (refusal := _refusal(request, token_file)) is not None:
            return refusal
        name, which = request.path_params["name"], request.path_params["which"]
        try:
            found = registry.find(name, which)
            return _content(request, registry, found, request.path_params.get("file", MANIFEST_FILE))
        except InputError as error:
            return PlainTextResponse(f"{error.message}\n", status_code=404)
        except LongshoreError as error:
            LOGGER.error("models: cannot read the store model=%r version=%r reason=%r", name, which, error.message)
            return PlainTextResponse("the store cannot be read\n", status_code=503)

    def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    # Plain functions: Starlette runs them in threads, and a database may be waited for.
    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/models/{name}/{which}/", answer),
            Route("/models/{name}/{which}/{file}", answer),
        ]
    )
    app.router.redirect_slashes = False  # who fetches models does not follow redirects
    return app


def read_token(file: Path) -> str:
    """Return the token of a file.

    Raises:
        InputError: it cannot be read, or holds no single word.
    """
    try:
        with file.open("rb") as opened:
            token = opened.read(_MOST_TOKEN_BYTES + 1).decode("ascii").strip()
    except OSError as error:
        raise InputError(f"cannot read the token `{file}`: {error.strerror}", "give a file that exists") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the token `{file}` is no plain text, expected one word", "write it again") from error
    if not token or len(token) > _MOST_TOKEN_BYTES or token.split() != [token]:
        raise InputError(
            f"the token `{file}` holds {len(token.split())} words, expected one of at most {_MOST_TOKEN_BYTES} bytes",
            "such as `openssl rand -hex 32 > FILE` writes",
        )
    return token


def _refusal(request: Request, token_file: Path) -> Response | None:
    """Refuse who does not know the token; it is read again every time, as tokens are changed."""
    try:
        token = read_token(token_file)
    except InputError as error:
        LOGGER.error("models: cannot read the token reason=%r", error.message)
        return PlainTextResponse("the token cannot be read\n", status_code=503)
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
        return None
    return PlainTextResponse(
        "got no token, or another, expected `Authorization: Bearer TOKEN`\n",
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )


def _content(request: Request, registry: ModelRegistry, found: ModelVersion, file: str) -> Response:
    if file == MANIFEST_FILE:
        text = msgspec.json.format(msgspec.json.encode(found.manifest), indent=2) + b"\n"
        return _tagged(request, hashlib.sha256(text).hexdigest(), file) or _whole(text, file)
    stored = found.files.get(file)
    if stored is None:
        known = ", ".join((MANIFEST_FILE, *found.files))
        return PlainTextResponse(f"got the file `{file}`, expected one of: {known}\n", status_code=404)
    return _tagged(request, stored.sha256, file) or _whole(registry.read_file(stored.sha256), file, stored.sha256)


def _tagged(request: Request, sha256: str, file: str) -> Response | None:
    """Answer 304 where who asks has this content already."""
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if f'"{sha256}"' in known or "*" in known:
        return Response(status_code=304, headers=_headers(sha256, file))
    return None


def _whole(data: bytes, file: str, sha256: str | None = None) -> Response:
    return Response(data, headers=_headers(sha256 or hashlib.sha256(data).hexdigest(), file))


def _headers(sha256: str, file: str) -> dict[str, str]:
    # An alias may stand for another version by now: caches must ask.
    return {
        "ETag": f'"{sha256}"',
        "Cache-Control": "no-cache",
        "Content-Type": _KINDS.get(Path(file).suffix, "application/octet-stream"),
        "X-Content-Type-Options": "nosniff",
    }
