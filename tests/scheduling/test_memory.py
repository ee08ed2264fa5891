"""Free pages go back to the system."""

import asyncio
import subprocess
import sys

import pytest

from longshore.scheduling import memory

_KEPT_AFTER_CHURN = """
import sys

from longshore.scheduling.memory import find_trim


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


before = resident()
blocks = [bytearray(16_000) for _ in range(4000)]
small = blocks[::16]  # they stay, and hold the holes between them apart
del blocks
if sys.argv[1] == "trimmed":
    trim = find_trim()
    assert trim is not None
    trim()
print(resident() - before)
"""


def bytes_kept(how: str) -> int:
    command = [sys.executable, "-c", _KEPT_AFTER_CHURN, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_pages_between_what_stays_go_back() -> None:
    assert bytes_kept("not trimmed") > 50_000_000  # else the test says nothing
    assert bytes_kept("trimmed") < 15_000_000


async def test_it_is_done_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(memory, "find_trim", lambda: lambda: done.append("trimmed"))
    task = asyncio.create_task(memory.keep_trimmed(0.001))
    while len(done) < 3:
        await asyncio.sleep(0.001)
    task.cancel()


async def test_where_it_cannot_be_done_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "find_trim", lambda: None)
    await memory.keep_trimmed(0.001)
