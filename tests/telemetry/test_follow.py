"""Following a source: only changes are handed on, and trouble is said once."""

import asyncio
import contextlib
import logging

import pytest

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import SourceReadings, TimedReadings
from longshore.telemetry.follow import Follower, Telemetry, merge


class Scripted:
    """A source, a clock and a listener of the test's own."""

    def __init__(self) -> None:
        self.batch = SourceReadings()
        self.now = 1000.0
        self.got: list[dict[str, NodeReadings]] = []
        self.follower = Follower("file", self, lambda changed: self.got.append(dict(changed)), lambda: self.now)

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


async def test_one_fresh_node_does_not_hide_those_that_are_stale():
    script = Scripted()
    script.measure(a=1.0, b=1.0)
    await script.follower.step()
    script.now += 61
    script.batch = SourceReadings({**script.batch.nodes, "a": TimedReadings(NodeReadings(watts=1.0), script.now)})
    await script.follower.step()
    assert (script.follower.num_stale(), script.follower.age_seconds()) == (1, 0.0)
    assert script.got[-1] == {"b": NodeReadings()}


async def test_each_new_failure_of_a_source_counts_once():
    script = Scripted()
    for problem in ("no such file", "no such file", None, "no such file", "half written"):
        script.batch = SourceReadings(problem=problem)
        await script.follower.step()
    assert script.follower.num_failures == 3


async def test_a_source_that_raises_is_in_trouble_and_keeps_its_last_readings():
    script = Scripted()
    script.measure(a=1.0)
    await script.follower.step()

    async def fail() -> SourceReadings:
        raise KeyError("nodes")

    script.read = fail  # type: ignore[method-assign]
    await script.follower.step()
    assert script.follower.problem == "the source failed: KeyError: 'nodes'"
    assert script.follower.known == {"a": NodeReadings(watts=1.0)}


def test_of_every_quantity_the_first_known_value_counts():
    first = NodeReadings(watts=0.0)
    second = NodeReadings(watts=5.0, latency_ms=3.0, zone_latency_ms=(("zone-a", 1.0),))
    assert merge([first, second]) == NodeReadings(watts=0.0, latency_ms=3.0, zone_latency_ms=(("zone-a", 1.0),))
    assert merge([]) == NodeReadings()


class Both:
    """Two sources, the first more trusted, and who is told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sources = {"meter": Scripted(), "model": Scripted()}
        self.got: list[dict[str, NodeReadings]] = []
        self.telemetry = Telemetry(self.sources, lambda changed: self.got.append(dict(changed)), lambda: self.now)

    def measure(self, source: str, **watts: float) -> None:
        self.sources[source].now = self.now
        self.sources[source].measure(**watts)

    async def step(self) -> dict[str, NodeReadings]:
        """Ask both; return what the nodes then have."""
        for follower in self.telemetry.followers:
            await follower.step()
        return {node: readings for changed in self.got for node, readings in changed.items()}


async def test_the_first_named_source_counts_even_where_another_is_fresher():
    both = Both()
    both.measure("meter", a=1.0)
    both.now += 30
    both.measure("model", a=9.0, b=2.0)
    assert await both.step() == {"a": NodeReadings(watts=1.0), "b": NodeReadings(watts=2.0)}


async def test_the_next_source_counts_where_the_first_is_too_old_or_gone():
    both = Both()
    both.measure("meter", a=1.0, b=1.0)
    both.measure("model", a=9.0, b=9.0)
    await both.step()
    both.now += 61
    both.measure("model", a=9.0, b=9.0)
    assert await both.step() == {"a": NodeReadings(watts=9.0), "b": NodeReadings(watts=9.0)}
    both.measure("meter", b=1.0)
    assert await both.step() == {"a": NodeReadings(watts=9.0), "b": NodeReadings(watts=1.0)}
    both.sources["model"].batch = SourceReadings()
    assert await both.step() == {"a": NodeReadings(), "b": NodeReadings(watts=1.0)}


async def test_every_source_s_trouble_is_told():
    both = Both()
    assert both.telemetry.problem is None
    both.sources["meter"].batch = SourceReadings(problem="no such file")
    both.sources["model"].batch = SourceReadings(problem="no answer")
    await both.step()
    assert both.telemetry.problem == "no such file; no answer"


async def test_a_source_that_hangs_holds_up_no_other():
    both = Both()

    async def hang() -> SourceReadings:
        await asyncio.Event().wait()
        raise AssertionError

    both.sources["meter"].read = hang  # type: ignore[method-assign]
    both.measure("model", a=2.0)
    task = asyncio.create_task(both.telemetry.run(interval_seconds=0.001))
    async with asyncio.timeout(30):
        while not both.got:
            await asyncio.sleep(0.001)
    assert both.got[0] == {"a": NodeReadings(watts=2.0)}
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
