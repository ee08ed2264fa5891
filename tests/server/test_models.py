"""Models over HTTP: a manifest, files, tags, a token; nothing but what is in the registry."""

import asyncio
import hashlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from longshore.core.network.bundle_files import write_bundle
from longshore.server.rights import Access
from longshore.server.routes import make_app
from longshore.server.serving import Server
from longshore.store.models import ModelRegistry
from support.bundle_samples import deepsets_tensors, make_bundle

FILES = write_bundle(make_bundle())


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[ModelRegistry]:
    with ModelRegistry(str(tmp_path / "store.db")) as opened:
        opened.push(FILES, name="el-rl", alias="live")
        yield opened


def serve(registry: ModelRegistry, token_file: Path | None = None) -> Server:
    return Server(make_app({"health": {}, "models": registry}, Access(token_file)), "models")


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


def exchange(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """Ask over a real port; the path is sent as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    found = Answer(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})
    connection.close()
    return found


async def ask(
    registry: ModelRegistry, path: str, token_file: Path | None = None, method: str = "GET", **headers: str
) -> Answer:
    async with serve(registry, token_file) as server:
        return await asyncio.to_thread(exchange, server.port, path, method, **headers)


@pytest.mark.parametrize("path", ["/models/el-rl/live/", "/models/el-rl/1/", "/models/el-rl/live/manifest.json"])
async def test_the_manifest_names_every_file(registry: ModelRegistry, path: str) -> None:
    answer = await ask(registry, path)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(answer.body) == {
        "schema": 1,
        "name": "el-rl",
        "version": 1,
        "files": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)} for name, data in FILES.items()
        },
    }


@pytest.mark.parametrize("file", sorted(FILES))
async def test_files_come_as_they_were_pushed(registry: ModelRegistry, file: str) -> None:
    answer = await ask(registry, f"/models/el-rl/live/{file}")
    assert (answer.status, answer.body) == (200, FILES[file])
    assert answer.headers["etag"] == f'"{hashlib.sha256(FILES[file]).hexdigest()}"'


@pytest.mark.parametrize("file", ["", "policy.json"])
async def test_who_has_it_already_gets_nothing_until_the_alias_moves(registry: ModelRegistry, file: str) -> None:
    first = await ask(registry, f"/models/el-rl/live/{file}")
    tag = first.headers["etag"]
    again = await ask(registry, f"/models/el-rl/live/{file}", If_None_Match=f'"other", W/{tag}')
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    registry.push(write_bundle(make_bundle(tensors=deepsets_tensors(4, 1))), name="el-rl", alias="live")
    moved = await ask(registry, f"/models/el-rl/live/{file}", If_None_Match=tag)
    assert (moved.status, moved.headers["etag"] != tag) == (200, True)


@pytest.mark.parametrize(
    "path",
    [
        "/models/el-rl/live/weights",
        "/models/el-rl/live/../../../../etc/passwd",
        "/models/el-rl/live/%2e%2e%2fstore.db",
        "/models/../store.db",
        "/models/%2e%2e/live/",
        "/models/%00/live/",
        "/models/el-rl/%00/",
        "/models/el-rl/2/",
        "/models/other/live/",
        "/models/",
        "/",
    ],
)
async def test_what_is_not_in_the_registry_is_not_found(registry: ModelRegistry, path: str) -> None:
    assert (await ask(registry, path)).status == 404


async def test_a_token_is_asked_for_where_there_is_one(registry: ModelRegistry, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("geheim\n")
    path = "/models/el-rl/live/"
    without = await ask(registry, path, token)
    assert (without.status, without.headers["www-authenticate"]) == (401, "Bearer")
    assert (await ask(registry, path, token, Authorization="Bearer other")).status == 401
    assert (await ask(registry, path, token, Authorization="Bearer geheim")).status == 200
    assert (await ask(registry, "/healthz", token)).status == 200


async def test_a_changed_token_counts_at_once_and_a_lost_one_lets_nobody_in(
    registry: ModelRegistry, tmp_path: Path
) -> None:
    token, path = tmp_path / "token", "/models/el-rl/live/"
    token.write_text("old")
    async with serve(registry, token) as server:

        async def status(word: str) -> int:
            answer = await asyncio.to_thread(exchange, server.port, path, Authorization=f"Bearer {word}")
            return answer.status

        token.write_text("new")
        assert [await status("old"), await status("new")] == [401, 200]
        token.unlink()
        assert await status("new") == 503


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_nothing_can_be_changed(registry: ModelRegistry, method: str) -> None:
    assert (await ask(registry, "/models/el-rl/live/policy.json", method=method)).status == 405


async def test_a_store_that_is_away_is_503_and_says_nothing_of_where(tmp_path: Path, registry: ModelRegistry) -> None:
    (tmp_path / "store.db").write_bytes(b"x" * 5000)
    answer = await ask(registry, "/models/el-rl/live/")
    assert (answer.status, answer.body) == (503, b"this cannot be answered now; the server's log says why\n")


async def test_what_was_asked_cannot_write_lines_into_the_log(
    tmp_path: Path, registry: ModelRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store.db").write_bytes(b"x" * 5000)
    assert (await ask(registry, "/models/el-rl%0aERROR/live/")).status == 503
    assert "\n" not in caplog.records[-1].getMessage()


async def test_a_deleted_version_is_not_found(registry: ModelRegistry) -> None:
    registry.push(write_bundle(make_bundle(tensors=deepsets_tensors(4, 1))), name="el-rl")
    registry.delete("el-rl", "2")
    assert (await ask(registry, "/models/el-rl/2/")).status == 404
