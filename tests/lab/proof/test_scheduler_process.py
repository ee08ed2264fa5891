"""The scheduler as a process: started again when it dies, and ended in order."""

import asyncio
import sys
from pathlib import Path

import pytest

from longshore.core.words.errors import LongshoreError
from longshore_lab.proof import scheduler_process
from longshore_lab.proof.scheduler_process import SCHEDULES, SchedulerProcess

PROGRAM = f"""
import os, signal, sys, time
say = lambda *words: os.write(1, (" ".join(words) + "\\n").encode())  # at once, and safe where a signal comes
signal.signal(signal.SIGTERM, lambda *_: (say("ended"), sys.exit(0)))
say("{SCHEDULES}", os.environ["LONGSHORE_FAILPOINT"], *sys.argv[2:])
time.sleep(60)
"""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SchedulerProcess:
    monkeypatch.setattr(scheduler_process, "_COMMAND", (sys.executable, "-c", PROGRAM, "schedule"))
    return SchedulerProcess(tmp_path / "kubeconfig", tmp_path / "log", elects_leader=False, failpoint="before-bind:3")


async def test_it_is_started_with_its_failpoint_and_ended_in_order(process: SchedulerProcess) -> None:
    await process.start()
    assert f"{SCHEDULES} before-bind:3 --kubeconfig=" in process.said()
    assert "--no-leader-elect" in process.said()
    await process.stop()
    assert process.said().endswith("ended\n")
    assert process.died_at == []


async def test_one_that_was_killed_is_started_again_without_the_failpoint(process: SchedulerProcess) -> None:
    await process.start()
    process.kill()
    while process.said().count(SCHEDULES) < 2:
        await asyncio.sleep(0.02)
    assert process.said().count("before-bind:3") == 1
    assert len(process.died_at) == 1
    await process.stop()


async def test_one_that_is_paused_does_not_end_before_it_goes_on(process: SchedulerProcess) -> None:
    await process.start()
    process.pause()
    stopping = asyncio.create_task(process.stop())
    await asyncio.sleep(0.3)
    assert not stopping.done()
    process.resume()
    await stopping
    assert process.said().endswith("ended\n")


async def test_one_that_does_not_say_what_is_waited_for_is_given_up(
    process: SchedulerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_process, "_READY_SECONDS", 0.2)
    with pytest.raises(LongshoreError, match="did not say `never`"):
        await process.start("never")
    await process.stop()
