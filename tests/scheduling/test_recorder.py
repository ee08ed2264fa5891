"""The event recorder: off the decision path, bounded, and honest about what it dropped."""

import asyncio
from typing import Any, cast

from longshore.kube.errors import Unreachable
from longshore.kube.writes import Reporter
from longshore.scheduling.recorder import EventRecorder, PodEvent
from support.fake_api import FakeApi


def event(name: str) -> PodEvent:
    return PodEvent("default", name, f"uid-{name}", "Scheduled", "Binding", f"about {name}")


def recorder_of(api: FakeApi, **more: Any) -> EventRecorder:
    return EventRecorder(cast("Any", api), Reporter("longshore", "longshore-test"), **more)


async def test_events_are_sent_in_the_background_and_before_the_end():
    api = FakeApi()
    recorder = recorder_of(api)
    recorder.record(event("a"))
    assert api.requests == []
    recorder.start()
    recorder.record(event("b"))
    await recorder.close()
    assert sorted(sent["note"] for sent in api.events) == ["about a", "about b"]
    first = next(sent for sent in api.events if sent["note"] == "about a")
    assert (first["reason"], first["action"], first["type"]) == ("Scheduled", "Binding", "Normal")
    assert (first["reportingController"], first["regarding"]["uid"]) == ("longshore", "uid-a")


async def test_too_many_are_dropped_and_counted():
    recorder = recorder_of(FakeApi(), max_waiting=3)
    for i in range(5):
        recorder.record(event(str(i)))
    assert recorder.num_dropped == 2


async def test_a_server_that_does_not_answer_costs_the_event_and_nothing_else():
    api = FakeApi()
    api.fail("/events", Unreachable("away"))
    recorder = recorder_of(api)
    recorder.start()
    recorder.record(event("a"))
    await asyncio.sleep(0.05)
    recorder.record(event("b"))
    await recorder.close()
    assert (recorder.num_dropped, [sent["note"] for sent in api.events]) == (1, ["about b"])


async def test_what_is_left_at_the_end_counts_as_dropped():
    recorder = recorder_of(FakeApi())
    recorder.record(event("a"))
    await recorder.close(timeout_seconds=0.0)
    assert recorder.num_dropped == 1
