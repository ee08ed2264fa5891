"""Models over HTTP, for schedulers that take them by address. Nothing can be changed here.

WHICH is a version or an alias such as `live`. Answers have an ETag, so that asking again costs nothing while nothing
has changed. Names are looked up in the store and never become paths. A web server with the same files in a folder is as
good: `longshore models pull NAME WHICH FOLDER --with-manifest` writes it.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from longshore.core.words.errors import InputError
from longshore.server.application import Question
from longshore.store.models import MANIFEST_FILE, ModelRegistry, ModelVersion

_KINDS = {".json": "application/json", ".md": "text/markdown; charset=utf-8"}


def manifest(registry: ModelRegistry, question: Question) -> Response:
    """Return what a version is made of: the SHA-256 and the size of every file."""
    text = msgspec.json.format(msgspec.json.encode(_find(registry, question).manifest), indent=2) + b"\n"
    return _tagged(question, hashlib.sha256(text).hexdigest(), MANIFEST_FILE, lambda: text)


def file(registry: ModelRegistry, question: Question) -> Response:
    """Return a file of a version: `policy.json`, `weights.safetensors` or `README.md`."""
    found, name = _find(registry, question), question.path["file"]
    stored = found.files.get(name)
    if stored is None:
        known = ", ".join((MANIFEST_FILE, *found.files))
        raise HTTPException(404, f"got the file `{name}`, expected one of: {known}")
    return _tagged(question, stored.sha256, name, lambda: registry.read_file(stored.sha256))


def _find(registry: ModelRegistry, question: Question) -> ModelVersion:
    try:
        return registry.find(question.path["name"], question.path["which"])
    except InputError as error:
        raise HTTPException(404, error.message) from error


def _tagged(question: Question, sha256: str, file: str, read: Callable[[], bytes]) -> Response:
    """Answer with the content, or with 304 where who asks has it already."""
    known = [tag.strip().removeprefix("W/") for tag in question.headers.get("if-none-match", "").split(",")]
    # An alias may stand for another version by now: caches must ask.
    headers = {
        "ETag": f'"{sha256}"',
        "Cache-Control": "no-cache",
        "Content-Type": _KINDS.get(Path(file).suffix, "application/octet-stream"),
        "X-Content-Type-Options": "nosniff",
    }
    has_it = f'"{sha256}"' in known or "*" in known
    return Response(status_code=304, headers=headers) if has_it else Response(read(), headers=headers)
