"""Evictions: condition, deletion, event, in upstream's words; those who leave already are left alone."""

from dataclasses import replace
from typing import Any, cast

import pytest

from longshore.core.words.pod import Pod
from longshore.kube.errors import ApiError, Unreachable
from longshore.kube.writes import Reporter
from longshore.scheduling.evict import MAX_EVICTIONS, Evictor
from longshore.scheduling.recorder import EventRecorder
from support.builders import make_pod
from support.fake_api import FakeApi

BOSS = replace(make_pod("boss").build(), uid="boss-uid")


class Scene:
    """Victims, and an API server that has them."""

    def __init__(self, *names: str) -> None:
        self.api = FakeApi()
        self.victims = [
            replace(make_pod(name).on("a").build(), uid=self.api.pod(name, node="a")["metadata"]["uid"])
            for name in names
        ]
        self.recorder = EventRecorder(cast("Any", self.api), Reporter("longshore", "longshore-test"))
        self.evictor = Evictor(cast("Any", self.api), self.recorder, "longshore")

    async def evict(self, *victims: Pod) -> list[str]:
        """Evict, and return who stays."""
        refused = await self.evictor.evict(BOSS, "a", victims or self.victims)
        self.recorder.start()
        await self.recorder.close()
        return [pod.name for pod in refused]


async def test_a_victim_is_told_why_and_deleted():
    scene = Scene("v")
    assert await scene.evict() == []
    assert [(method, path.rpartition("/")[2]) for method, path in scene.api.requests] == [
        ("PATCH", "status"),
        ("DELETE", "v"),
        ("POST", "events"),
    ]
    assert scene.api.events_of("v") == [("Preempted", "Preempted by pod boss-uid on node a")]


async def test_the_condition_names_the_scheduler(monkeypatch: pytest.MonkeyPatch):
    scene = Scene("v")
    monkeypatch.setattr(scene.api, "drop", lambda resource, key: None)
    await scene.evict()
    condition = scene.api.condition("v", "DisruptionTarget") or {}
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    assert condition["message"] == "longshore: preempting to accommodate a higher priority pod"


async def test_the_last_victim_goes_after_all_others():
    scene = Scene("a", "b", "c")
    assert await scene.evict() == []
    deleted = [path.rpartition("/")[2] for method, path in scene.api.requests if method == "DELETE"]
    assert (sorted(deleted), deleted[-1]) == (["a", "b", "c"], "c")


async def test_those_who_leave_already_are_left_alone():
    scene = Scene("v")
    leaving = replace(scene.victims[0], spec=replace(scene.victims[0].spec, is_terminating=True))
    assert await scene.evict(leaving) == []
    assert scene.api.requests == []


async def test_a_victim_that_is_gone_is_no_failure():
    scene = Scene("v")
    scene.api.objects["Pod"].clear()
    assert await scene.evict() == []


async def test_a_refused_eviction_spares_the_last_and_is_reported():
    scene = Scene("a", "b")
    scene.api.fail("/pods/a/status", ApiError(500, "InternalError", "not now"))
    assert await scene.evict() == ["a"]
    assert scene.api.get("b") is not None


async def test_who_no_longer_leads_evicts_nobody():
    scene = Scene("v")
    scene.evictor = replace(scene.evictor, may_evict=lambda: False)
    assert await scene.evict() == ["v"]
    assert scene.api.requests == []


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_a_refused_deletion_takes_the_condition_back(status: int):
    scene = Scene("v")
    scene.api.always("DELETE", "/pods/v", ApiError(status, "No", "not this one"))
    assert await scene.evict() == ["v"]
    assert (scene.api.condition("v", "DisruptionTarget") or {})["status"] == "False"


async def test_a_victim_that_may_be_leaving_keeps_its_condition():
    scene = Scene("v")
    scene.api.always("DELETE", "/pods/v", Unreachable("no answer"))
    assert await scene.evict() == ["v"]
    assert (scene.api.condition("v", "DisruptionTarget") or {})["status"] == "True"


async def test_so_many_at_once_and_no_more():
    scene = Scene(*(f"v{i}" for i in range(3 * MAX_EVICTIONS)))
    scene.api.latency = lambda method, path: 0.01
    assert await scene.evict() == []
    assert scene.api.most_at_once == MAX_EVICTIONS
