"""Conditions and nominations: written once, the latest wins, and never after the binding."""

import asyncio
from typing import Any, cast

from longshore.kube.cache import PodChange, PodCondition
from longshore.kube.errors import Unreachable
from longshore.scheduling.status_writer import StatusWriter
from support.fake_api import FakeApi


def change(api: FakeApi, *conditions: PodCondition) -> PodChange:
    uid = (api.get("p") or api.pod("p"))["metadata"]["uid"]
    return PodChange("default/p", "default", "p", uid, conditions=conditions)


async def test_a_condition_is_written_once_until_it_changes():
    api = FakeApi()
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.start()
    assert writer.pending(pod, "Unschedulable", "no room")
    await asyncio.sleep(0.05)
    assert not writer.pending(pod, "Unschedulable", "no room")
    assert writer.pending(pod, "Unschedulable", "less room")
    await writer.close()
    assert api.count() == {"PATCH status": 2}
    assert (api.condition("p") or {})["message"] == "less room"


async def test_what_the_pod_says_already_is_not_written_again():
    api = FakeApi()
    before = PodCondition("PodScheduled", "False", "Unschedulable", "no room", "2026-01-01T00:00:00Z")
    writer, pod = StatusWriter(cast("Any", api)), change(api, before)
    writer.start()
    assert not writer.pending(pod, "Unschedulable", "no room")
    assert writer.pending(pod, "Unschedulable", "another reason")
    await writer.close()
    condition = api.condition("p") or {}
    assert (condition["message"], condition["lastTransitionTime"]) == ("another reason", "2026-01-01T00:00:00Z")


async def test_condition_and_nomination_travel_together():
    api = FakeApi()
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.nominate(pod, "a")
    writer.pending(pod, "Unschedulable", "no room")
    writer.start()
    await writer.close()
    assert api.count() == {"PATCH status": 1}
    assert (api.get("p") or {})["status"]["nominatedNodeName"] == "a"
    writer.nominate(pod, "")
    writer.start()
    await writer.close()
    assert (api.get("p") or {})["status"]["nominatedNodeName"] == ""


async def test_a_write_that_failed_is_repeated_unless_the_pod_is_gone():
    api = FakeApi()
    api.fail("/status", Unreachable("away"))
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.start()
    writer.pending(pod, "Unschedulable", "no room")
    await writer.close(timeout_seconds=3.0)
    assert (api.count(), (api.condition("p") or {}).get("message")) == ({"PATCH status": 2}, "no room")


async def test_nothing_is_written_about_a_pod_that_was_bound_meanwhile():
    api = FakeApi()
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.pending(pod, "Unschedulable", "no room")
    writer.forget("default/p")
    writer.start()
    await writer.close()
    assert api.requests == []


async def test_a_binding_can_wait_for_the_write_that_is_under_way():
    api = FakeApi()
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.start()
    writer.pending(pod, "Unschedulable", "no room")
    while not api.requests:
        await asyncio.sleep(0)
    await writer.settle("default/p")
    assert api.condition("p") is not None
    await writer.close()


async def test_a_write_that_failed_is_not_repeated_once_a_binding_is_near():
    api = FakeApi()
    api.fail("/status", Unreachable("connection reset"))
    writer, pod = StatusWriter(cast("Any", api)), change(api)
    writer.start()
    writer.pending(pod, "Unschedulable", "no room")
    while not api.requests:
        await asyncio.sleep(0)
    await writer.settle("default/p")
    await writer.close()
    assert api.count() == {"PATCH status": 1}
