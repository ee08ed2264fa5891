"""Ask an application as a server would, without a port."""

from typing import Any, NamedTuple

from starlette.types import ASGIApp


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


async def ask(app: ASGIApp, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
    """Send one question; `If_None_Match` in `headers` is `if-none-match`."""
    sent = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": sent}
    got: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        got.append(message)

    await app({**scope, "root_path": "", "http_version": "1.1", "scheme": "http"}, receive, send)
    found = {name.decode(): value.decode() for name, value in got[0]["headers"]}
    return Answer(got[0]["status"], found, b"".join(message.get("body", b"") for message in got[1:]))
