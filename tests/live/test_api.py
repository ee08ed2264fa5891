"""Tests of how the lab asks the API server."""

import asyncio
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

from longshore.kube.errors import Conflict, Forbidden, Unreachable
from longshore.live import api
from longshore_lab.cluster import identities


class Recorder:
    """A client that notes what is asked of it and refuses what it is told to."""

    def __init__(self, refusals: dict[str, Exception] | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.refusals = refusals or {}
        self.at_once = self.most_at_once = 0

    async def request(self, method: str, path: str, **_options: object) -> bytes:
        self.asked.append((method, path))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if path in self.refusals:
            raise self.refusals[path]
        return b"{}"


def objects(count: int) -> list[tuple[str, dict[str, Any]]]:
    return [(f"/{index}", {}) for index in range(count)]


async def test_all_objects_are_created_once_and_not_one_after_the_other() -> None:
    client = Recorder()
    await api.create_all(client, objects(200))  # type: ignore[arg-type]
    assert sorted(client.asked) == sorted(("POST", path) for path, _ in objects(200))
    assert 1 < client.most_at_once <= 40


async def test_what_is_there_already_is_left_alone() -> None:
    client = Recorder({"/3": Conflict(409, "AlreadyExists", "there")})
    await api.create_all(client, objects(5))  # type: ignore[arg-type]
    assert len(client.asked) == 5


async def test_another_refusal_is_told() -> None:
    client = Recorder({"/3": Forbidden(403, "Forbidden", "no")})
    with pytest.raises(Forbidden):
        await api.create_all(client, objects(5))  # type: ignore[arg-type]


async def test_a_server_that_does_not_answer_is_no_error_yet() -> None:
    assert await api.answers(Recorder({"/readyz": Unreachable("gone")}), "/readyz") is False  # type: ignore[arg-type]
    assert await api.answers(Recorder(), "/readyz") is True  # type: ignore[arg-type]


async def test_waiting_ends_when_it_is_so_or_when_the_time_is_up() -> None:
    asked = 0

    async def third_time() -> bool:
        nonlocal asked
        asked += 1
        return asked == 3

    async def never() -> bool:
        return False

    assert await api.until(third_time, 10.0, 0.001) is True
    assert asked == 3
    assert await api.until(never, 0.01, 0.001) is False


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    identities.make_keys(tmp_path, "127.0.0.1")
    authority = (tmp_path / "ca.crt").read_bytes()
    identities.write_kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1", authority, {"token": "x"})
    return tmp_path / "kubeconfig"


async def test_it_can_be_called_where_an_event_loop_runs(kubeconfig: Path) -> None:
    async def server_of(client: Any) -> str:
        return str(client.identity.server)

    assert api.call(kubeconfig, server_of) == "https://127.0.0.1:1"


def functions_of_main_thread() -> set[str]:
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    return {frame.f_code.co_name for frame, _ in traceback.walk_stack(frame)}


def test_work_that_is_interrupted_is_cancelled(kubeconfig: Path) -> None:
    steps: list[str] = []

    async def wait(_: Any) -> None:
        while "result" not in functions_of_main_thread():
            await asyncio.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            steps.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        api.call(kubeconfig, wait)
    assert steps == ["cancelled"]
