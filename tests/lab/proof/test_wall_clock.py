"""The wall clock that jumps: a process sees it, its monotonic clock does not, and asyncio's timers go on."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longshore.core.words.errors import ComponentMissingError
from longshore_lab.proof.wall_clock import WallClock

_PROGRAM = """
import asyncio, os, pathlib, sys, time
async def look():
    for offset in ("+0", "+3600", "-120"):
        pathlib.Path(sys.argv[1]).write_text(offset)
        await asyncio.sleep(0.01)
        print(time.time() - time.monotonic())
asyncio.run(look())
"""


@pytest.fixture
def clock(tmp_path: Path, require_component: Callable[[str, str, bool], None]) -> WallClock:
    try:
        return WallClock(tmp_path / "clock")
    except ComponentMissingError as error:
        require_component(error.component, error.provided_by, False)
        raise


def test_a_process_sees_the_jumps(clock: WallClock, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "clock")]
    done = subprocess.run(command, env=dict(clock.environment), capture_output=True, text=True, check=True)
    start, ahead, behind = map(float, done.stdout.split())
    assert (ahead - start, behind - start) == pytest.approx((3600, -120), abs=0.5)


def test_a_jump_is_written_as_the_library_reads_it(clock: WallClock, tmp_path: Path) -> None:
    assert (tmp_path / "clock").read_text() == "+0"
    clock.jump(-120)
    assert (tmp_path / "clock").read_text() == "-120"
