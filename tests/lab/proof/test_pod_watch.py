"""What is seen of pods from the side: every node that one was ever bound to."""

import asyncio
from typing import Any

import msgspec

from longshore.kube import wire
from longshore.kube.reflector import Event, Stage, WatchBatch
from longshore.kube.resources import PODS
from longshore_lab.proof.pod_watch import PodWatch


def pod(uid: str, node: str = "", message: str = "") -> Any:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    content = {
        "metadata": {"name": f"name-{uid}", "namespace": "ns", "uid": uid},
        "spec": {"nodeName": node},
        "status": {"conditions": conditions if message else []},
    }
    return msgspec.convert(content, wire.Pod)


def seen(*events: tuple[str, Any]) -> PodWatch:
    watch = PodWatch()
    watch.deliver(WatchBatch(PODS, Stage.WATCH, [Event(kind, thing) for kind, thing in events]))
    return watch


def test_a_binding_is_seen_with_its_time() -> None:
    watch = seen(("ADDED", pod("1")), ("MODIFIED", pod("1", "a")), ("MODIFIED", pod("1", "a")))
    (sighting,) = watch.of(["1"])
    assert (sighting.name, sighting.nodes) == ("ns/name-1", ["a"])
    assert sighting.bound_at is not None
    assert watch.num_bound(["1", "never-seen"]) == 1


def test_a_pod_that_changes_its_node_is_seen_on_both() -> None:
    watch = seen(("ADDED", pod("1", "a")), ("MODIFIED", pod("1", "b")))
    assert watch.sightings["1"].nodes == ["a", "b"]


def test_what_a_scheduler_says_is_kept() -> None:
    sighting = seen(("MODIFIED", pod("1", message="no room"))).sightings["1"]
    assert (sighting.is_unschedulable, sighting.message) == (True, "no room")


def test_a_deleted_pod_is_gone_and_so_is_one_that_a_new_list_does_not_have() -> None:
    watch = seen(("ADDED", pod("1", "a")), ("ADDED", pod("2")), ("ADDED", pod("3")), ("DELETED", pod("3")))
    watch.deliver(WatchBatch(PODS, Stage.LIST_BEGINS))
    watch.deliver(WatchBatch(PODS, Stage.LIST, [Event("ADDED", pod("2"))]))
    watch.deliver(WatchBatch(PODS, Stage.LIST_ENDS))
    assert [sighting.is_gone for sighting in watch.of(["1", "2", "3"])] == [True, False, True]


async def test_waiting_ends_when_it_is_so_or_in_time() -> None:
    watch = PodWatch()
    waiting = asyncio.create_task(watch.until(lambda: watch.num_bound(["1"]) == 1, 5.0))
    await asyncio.sleep(0)
    watch.deliver(WatchBatch(PODS, Stage.WATCH, [Event("ADDED", pod("1", "a"))]))
    assert await waiting
    assert not await watch.until(lambda: False, 0.01)
