"""Why pods wait: news at once, the rest at its time, and the last word is always there."""

import asyncio
from typing import Any, cast

from longshore.kube.cache import PodChange
from longshore.kube.writes import Reporter
from longshore.scheduling.pending import CONDITION_SECONDS, EVENT_SECONDS, REPEAT_SECONDS, PendingReports
from longshore.scheduling.recorder import EventRecorder
from longshore.scheduling.status_writer import StatusWriter
from support import virtual_time
from support.fake_api import FakeApi


class Scene:
    """A pod that waits, and what is written about it."""

    def __init__(self) -> None:
        self.api = FakeApi()
        uid = self.api.pod("p")["metadata"]["uid"]
        self.pod = PodChange("default/p", "default", "p", uid)
        client = cast("Any", self.api)
        self.statuses = StatusWriter(client)
        self.recorder = EventRecorder(client, Reporter("longshore", "longshore-test"))
        self.reports = PendingReports(self.statuses, self.recorder, asyncio.get_running_loop().time)
        self.statuses.start()
        self.recorder.start()

    async def close(self) -> None:
        await asyncio.gather(self.statuses.close(), self.recorder.close())

    @property
    def condition(self) -> str:
        return str((self.api.condition("p") or {}).get("message"))

    @property
    def notes(self) -> list[str]:
        return [note for _, note in self.api.events_of("p")]


def test_the_first_reason_and_every_other_one_are_written_at_once():
    async def story() -> None:
        scene = Scene()
        scene.reports.report(scene.pod, "Unschedulable", "no room")
        await asyncio.sleep(0.1)
        assert (scene.condition, scene.notes) == ("no room", ["no room"])
        scene.reports.report(scene.pod, "SchedulerError", "binding rejected")
        await asyncio.sleep(0.1)
        assert (scene.condition, scene.notes) == ("binding rejected", ["no room", "binding rejected"])
        await scene.close()

    virtual_time.run(story())


def test_messages_that_change_with_every_attempt_cost_few_writes():
    async def story() -> None:
        scene = Scene()
        for second in range(600):
            scene.reports.report(scene.pod, "Unschedulable", f"{second} nodes are full")
            await asyncio.sleep(1.0)
        await asyncio.sleep(CONDITION_SECONDS)
        assert scene.condition == "599 nodes are full"
        count = scene.api.count()
        assert count["PATCH status"] <= 600 / CONDITION_SECONDS + 1
        assert len(scene.notes) <= 600 / EVENT_SECONDS + 1
        await scene.close()

    virtual_time.run(story())


def test_the_last_word_is_written_although_nothing_follows_it():
    async def story() -> None:
        scene = Scene()
        scene.reports.report(scene.pod, "Unschedulable", "one")
        scene.reports.report(scene.pod, "Unschedulable", "two")
        scene.reports.report(scene.pod, "Unschedulable", "three")
        await asyncio.sleep(CONDITION_SECONDS + 0.1)
        assert scene.condition == "three"
        await scene.close()

    virtual_time.run(story())


def test_an_event_that_repeats_becomes_a_series():
    async def story() -> None:
        scene = Scene()
        for _ in range(10):
            scene.reports.report(scene.pod, "Unschedulable", "no room")
            await asyncio.sleep(REPEAT_SECONDS / 2)
        assert scene.notes == ["no room"]
        assert scene.api.events[0]["series"]["count"] == 5
        await scene.close()

    virtual_time.run(story())


def test_nothing_is_said_about_a_pod_that_waits_no_longer():
    async def story() -> None:
        scene = Scene()
        scene.reports.report(scene.pod, "Unschedulable", "one")
        await asyncio.sleep(0.1)
        scene.reports.report(scene.pod, "Unschedulable", "two")
        scene.reports.forget("default/p")
        await asyncio.sleep(CONDITION_SECONDS * 2)
        assert scene.condition == "one"
        await scene.close()

    virtual_time.run(story())
