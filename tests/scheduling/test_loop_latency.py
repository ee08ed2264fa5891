"""Hard latency limits in the live loop: without readings, with late ones, and with annotations that cannot be read."""

from dataclasses import replace

from longshore.core.words.node import NodeReadings
from longshore.deciding.find import find_policy
from longshore.filters import LIMITED, MEASURED
from longshore.kube.resources import PODS
from longshore.scheduling.queue import Place
from support.fake_api import FakeApi
from support.scheduler import scheduling, until


def said(api: FakeApi, name: str, reason: str) -> list[str]:
    return [note for what, note in api.events_of(name) if what == reason]


async def test_an_annotation_that_cannot_be_read_does_not_count_and_is_said_once():
    api = FakeApi()
    api.node("a", cpu="1")
    pod = api.pod("p", cpu="2")
    pod["metadata"]["annotations"] = {"longshore.dev/latency-hard-limit-ms": "soon"}
    async with scheduling(api, own=replace(find_policy("kube-default"), filters=LIMITED)) as running:
        api.put(PODS, pod)
        await until(lambda: api.condition("p"))  # too large; its own condition is one more change of the pod
        running.queue.activate("default/p")
        running.scheduler.wake()
        api.node("b")
        await until(lambda: api.node_of("p"))
        await until(lambda: said(api, "p", "Scheduled"))
    (note,) = said(api, "p", "LongshoreAnnotationIgnored")
    assert note.startswith("It does not count: Pod `default/p`: ")
    assert "`soon` is not a number" in note


async def test_what_cannot_be_read_is_said_by_whom_it_waits_for():
    api = FakeApi()
    api.node("a")
    pod = api.pod("p")
    pod["metadata"]["annotations"] = {"longshore.dev/gpu-count": "two"}
    api.put(PODS, pod)
    async with scheduling(api):  # it was there before this replica led
        await until(lambda: said(api, "p", "LongshoreAnnotationIgnored"))
        await until(lambda: api.node_of("p"))


async def test_a_pod_with_a_hard_limit_waits_for_readings_where_that_is_wished():
    api = FakeApi()
    api.node("a")
    pod = api.pod("p")
    pod["metadata"]["annotations"] = {"longshore.dev/latency-hard-limit-ms": "30"}
    api.put(PODS, pod)
    async with scheduling(api, own=replace(find_policy("kube-default"), filters=MEASURED)) as running:
        await until(lambda: api.condition("p"))
        condition = api.condition("p")
        assert condition is not None
        assert "1 node(s) had no latency reading for the pod's hard limit" in condition["message"]
        item = running.queue.get("default/p")
        assert item is not None

        def measure(latency_ms: float) -> int:
            happening = running.cycle.view.put_readings(
                {"a": NodeReadings(latency_ms=latency_ms), "gone": NodeReadings()}
            )
            running.scheduler.wake()
            return running.queue.wake(happening)

        assert (measure(40.0), measure(50.0), measure(50.0)) == (1, 0, 0)  # only what may help wakes it
        await until(lambda: item.attempts > 1 and item.place is Place.UNSCHEDULABLE)
        assert measure(29.0) == 1
        await until(lambda: api.node_of("p"), 15)


async def test_a_pod_with_a_hard_limit_is_placed_without_readings():
    api = FakeApi()
    api.node("a")
    pod = api.pod("p")
    pod["metadata"]["annotations"] = {"latencyHardConstraint": "30"}
    api.put(PODS, pod)
    async with scheduling(api, own=replace(find_policy("kube-default"), filters=LIMITED)):
        await until(lambda: api.node_of("p"))


async def test_an_annotation_that_only_looks_like_ours_is_said():
    api = FakeApi()
    api.node("a")
    pod = api.pod("p")
    pod["metadata"]["annotations"] = {"longshore.dev/latency-hard-limit": "30"}
    api.put(PODS, pod)
    async with scheduling(api):
        await until(lambda: api.node_of("p"))
        await until(lambda: said(api, "p", "LongshoreAnnotationIgnored"))
    (note,) = said(api, "p", "LongshoreAnnotationIgnored")
    assert "did you mean `longshore.dev/latency-hard-limit-ms`?" in note
