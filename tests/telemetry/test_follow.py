"""Following a source: only changes are handed on, and trouble is said once."""

import asyncio
import contextlib
import logging

import pytest

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import SourceReadings, TimedReadings
from longshore.telemetry.follow import Follower


class Scripted:
    """A source, a clock and a listener of the test's own."""

    def __init__(self) -> None:
        self.batch = SourceReadings()
        self.now = 1000.0
        self.got: list[dict[str, NodeReadings]] = []
        self.follower = Follower(
            "file", self, lambda changed: self.got.append(dict(changed)), max_age_seconds=60, clock=lambda: self.now
        )

    async def read(self) -> SourceReadings:
        return self.batch

    def measure(self, **watts: float) -> None:
        self.batch = SourceReadings({name: TimedReadings(NodeReadings(watts=w), self.now) for name, w in watts.items()})


async def test_only_changes_are_handed_on():
    script = Scripted()
    script.measure(a=1.0, b=1.0)
    await script.follower.step()
    script.measure(a=1.0, b=2.0)
    await script.follower.step()
    await script.follower.step()
    assert script.got == [{"a": NodeReadings(watts=1.0), "b": NodeReadings(watts=1.0)}, {"b": NodeReadings(watts=2.0)}]


async def test_a_node_that_is_gone_becomes_unknown():
    script = Scripted()
    script.measure(a=1.0, b=1.0)
    await script.follower.step()
    script.measure(b=1.0)
    await script.follower.step()
    assert script.got[-1] == {"a": NodeReadings()}


async def test_readings_become_unknown_with_age_and_known_again():
    script = Scripted()
    script.measure(a=1.0)
    await script.follower.step()
    script.now += 61
    await script.follower.step()
    assert script.got[-1] == {"a": NodeReadings()}
    assert script.follower.problem == "the readings of 1 of 1 nodes are older than 60 s"
    assert script.follower.age_seconds() == 61
    script.measure(a=1.0)
    await script.follower.step()
    assert script.got[-1] == {"a": NodeReadings(watts=1.0)}
    assert script.follower.problem is None


async def test_trouble_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture):
    script = Scripted()
    with caplog.at_level(logging.INFO):
        script.batch = SourceReadings(problem="no such file")
        for _ in range(5):
            await script.follower.step()
        script.batch = SourceReadings()
        await script.follower.step()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_run_goes_on_until_it_is_cancelled():
    script = Scripted()
    script.measure(a=1.0)
    task = asyncio.create_task(script.follower.run(interval_seconds=0.001))
    while not script.got:
        await asyncio.sleep(0.001)
    script.measure(a=2.0)
    while len(script.got) < 2:
        await asyncio.sleep(0.001)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
