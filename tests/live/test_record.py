"""Tests of a recording from the side of a live run: it plays in the simulator with the same pods and lifetimes."""

import asyncio

import pytest

from longshore.core.words.trace import Create, Delete, Trace
from longshore.evaluation.series import simulate_trace
from longshore.kube.client import Client
from longshore.kube.errors import Unreachable
from longshore.kube.identity import Identity
from longshore.kube.trace_file import read_trace, write_trace
from longshore.live.record import record
from longshore.live.recording import Scope
from support.live_run import LiveRun


def lifetimes(trace: Trace) -> list[float]:
    """Return how long each pod was there, in the order in which they came."""
    ends = {event.pod: event.time for event in trace.events if isinstance(event, Delete)}
    return [ends[event.pod.key] - event.time for event in trace.events if isinstance(event, Create)]


def test_a_recorded_run_has_the_pods_and_lifetimes_of_its_trace(live_run: LiveRun) -> None:
    trace = read_trace(b"".join(write_trace(live_run.recorded.trace)).splitlines())
    pods = [event.pod for event in trace.events if isinstance(event, Create)]
    wanted = [event.pod for event in live_run.trace.events if isinstance(event, Create)]
    assert [pod.spec.containers[0].requests for pod in pods] == [pod.spec.containers[0].requests for pod in wanted]
    assert [pod.spec.latency_hard_ms for pod in pods] == [pod.spec.latency_hard_ms for pod in wanted]
    assert {node.name for node in trace.nodes} >= {"worker-0", "worker-1", "worker-2"}
    real = [time / live_run.run.speed for time in lifetimes(live_run.trace)]
    # The recording runs in real seconds; deleting takes some of them on a busy machine.
    late_by = [have - want for have, want in zip(lifetimes(trace), real, strict=True)]
    assert all(-1.0 < late < 4.0 for late in late_by)


def test_a_recorded_run_plays_in_the_simulator(live_run: LiveRun) -> None:
    trace = read_trace(b"".join(write_trace(live_run.recorded.trace)).splitlines())
    played = simulate_trace("recorded", trace, "kube-default")
    assert played.metrics["placements"] == 4
    assert played.metrics["unschedulable"] == 0


async def test_a_server_that_is_away_is_said_at_once() -> None:
    async with Client(Identity("http://127.0.0.1:1")) as client:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
            await record(client, Scope(), asyncio.Event(), seconds=1.0)
