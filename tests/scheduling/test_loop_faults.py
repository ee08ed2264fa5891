"""The live loop on a server that goes on failing: others are not held up, nothing is lost, and nobody is pestered."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from longshore.kube.errors import ApiError, Forbidden, Garbled, NoCredentials, TooManyRequests, Unreachable
from longshore.scheduling.loop import MAX_BINDS_IN_FLIGHT, MAX_SLOW_BINDS
from support import virtual_time
from support.fake_api import FakeApi
from support.scheduler import Running, until

ERRORS = {
    "500": ApiError(500, "InternalError", "a webhook fails"),
    "429": TooManyRequests(429, "TooManyRequests", "later", retry_after=99_999.0),
    "403": Forbidden(403, "Forbidden", "no"),
    "reset": Unreachable("connection reset"),
    "no credentials": NoCredentials("the program failed"),
    "a bug of ours": ValueError("nobody expects this"),
    "hang": None,
}
Story = Callable[[FakeApi, Running], Coroutine[Any, Any, None]]


def play(api: FakeApi, story: Story) -> Running:
    """Run a scheduler for as long as a story takes, in virtual time."""

    async def run() -> Running:
        running = Running(api, clock=asyncio.get_running_loop().time)
        task = asyncio.create_task(running.scheduler.run())
        await story(api, running)
        await running.scheduler.abandon()
        await task
        return running

    return virtual_time.run(run())


@pytest.mark.parametrize("error", ERRORS)
def test_bindings_that_fail_for_ever_hold_up_nobody_else(error: str):
    api = FakeApi()
    api.node("a", cpu="1000", pods="10000")
    api.always("POST", "/pods/bad-", ERRORS[error])
    for i in range(2 * MAX_BINDS_IN_FLIGHT):
        api.pod(f"bad-{i}", cpu="1m")
    for i in range(50):
        api.pod(f"good-{i}", cpu="1m")

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: all(api.node_of(f"good-{i}") for i in range(50)), seconds=5.0)
        await until(lambda: all(api.condition(f"bad-{i}") for i in range(100)), seconds=60.0)
        assert (api.condition("bad-0") or {})["reason"] == "SchedulerError"
        assert api.events_of("bad-0")
        api.rules.clear()
        await until(lambda: all(api.node_of(f"bad-{i}") for i in range(2 * MAX_BINDS_IN_FLIGHT)), seconds=60.0)

    play(api, story)


def test_bindings_under_way_are_bounded_when_all_hang():
    api = FakeApi()
    api.node("a", cpu="1000", pods="10000")
    api.always("POST", "/binding", None)
    for i in range(2 * MAX_SLOW_BINDS):
        api.pod(f"p{i}", cpu="1m")

    async def story(api: FakeApi, running: Running) -> None:
        await asyncio.sleep(30.0)

    play(api, story)
    assert MAX_BINDS_IN_FLIGHT < api.most_at_once <= MAX_SLOW_BINDS + 12  # and the workers of events and statuses


def test_a_nominated_pod_counts_once_while_its_binding_is_under_way():
    api = FakeApi()
    api.node("a", cpu="4")
    api.node("b", cpu="2")
    api.pod("victim", cpu="4", node="a")
    api.pod("innocent", cpu="2", node="b", priority=50)
    api.pod("boss", cpu="2", priority=100)
    api.latency = lambda method, path: 5.0 if path.endswith("boss/binding") else 0.0

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: api.count()["POST binding"] == 1)
        api.pod("second", cpu="2", priority=100)
        await until(lambda: api.node_of("second") == "a", seconds=4.0)
        await until(lambda: api.node_of("boss") == "a")

    play(api, story)
    assert api.get("innocent") is not None


def test_a_nominated_pod_counts_once_when_the_answer_comes_before_the_watch():
    api = FakeApi()
    api.node("a", cpu="3")
    api.pod("victim", cpu="3", node="a")
    api.pod("boss", cpu="2", priority=100)
    api.latency = lambda method, path: 0.5 if path.endswith("boss/binding") else 0.0

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: api.count()["POST binding"] == 1)
        api.pod("lesser", cpu="1")
        api.hold_watch()
        await until(lambda: api.node_of("lesser") == "a", seconds=12.0)

    play(api, story)


def test_the_room_kept_for_a_pod_is_kept_again_when_its_binding_fails():
    api = FakeApi()
    api.node("a", cpu="2")
    api.pod("victim", cpu="2", node="a")
    api.pod("boss", cpu="2", priority=100)
    rule = api.always("POST", "boss/binding", Forbidden(403, "Forbidden", "not yet"))

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: (api.condition("boss") or {}).get("reason") == "SchedulerError")
        api.pod("lesser", cpu="2")
        await asyncio.sleep(20.0)
        assert api.node_of("lesser") == ""
        api.rules.remove(rule)
        await until(lambda: api.node_of("boss") == "a")

    play(api, story)


def test_a_refused_eviction_is_not_repeated_at_once_and_others_are_asked():
    api = FakeApi()
    for node in "ab":
        api.node(node, cpu="2")
    api.pod("kept", cpu="2", node="a")
    api.pod("boss", cpu="2", priority=100)
    api.pod("other", cpu="2", node="b", priority=10)
    api.always("DELETE", "/pods/kept", Forbidden(403, "Forbidden", "a webhook protects it"))

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: api.node_of("boss") == "b", seconds=15.0)

    play(api, story)
    assert api.get("kept") is not None
    assert (api.condition("kept", "DisruptionTarget") or {})["status"] == "False"
    assert api.count()["DELETE kept"] <= 3


@pytest.mark.parametrize("error", ERRORS)
def test_evictions_that_fail_for_ever_cost_little(error: str):
    api = FakeApi()
    api.node("a", cpu="2")
    api.pod("kept", cpu="2", node="a")
    api.pod("boss", cpu="2", priority=100)
    rule = api.always("DELETE", "/pods/kept", ERRORS[error])

    async def story(api: FakeApi, running: Running) -> None:
        await asyncio.sleep(300.0)
        assert len(api.requests) < 100
        api.rules.remove(rule)
        await until(lambda: api.node_of("boss") == "a", seconds=120.0)

    play(api, story)


@pytest.mark.parametrize("error", ERRORS)
def test_a_binding_that_took_effect_and_of_which_nobody_hears_is_no_room_for_others(error: str):
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("p")
    api.always("POST", "/p/binding", Unreachable("no answer"), takes_effect=True)
    api.always("GET", "/pods/p", ERRORS[error])

    async def story(api: FakeApi, running: Running) -> None:
        api.hold_watch()
        await until(lambda: api.node_of("p") == "a")
        api.pod("next")
        await asyncio.sleep(120.0)
        api.release_watch()
        await asyncio.sleep(1.0)
        assert running.cycle.view.num_assumed == 0

    play(api, story)
    assert api.node_of("next") == ""


def test_an_attempt_that_raises_is_the_pods_trouble_alone(monkeypatch: pytest.MonkeyPatch):
    api = FakeApi()
    api.node("a")
    api.pod("odd")
    api.pod("plain")

    async def story(api: FakeApi, running: Running) -> None:
        attempt = running.cycle.attempt

        def fail(pod: Any, *rest: Any, **more: Any) -> Any:
            if pod.name == "odd":
                raise ZeroDivisionError("a case nobody thought of")
            return attempt(pod, *rest, **more)

        monkeypatch.setattr(running.cycle, "attempt", fail)
        await until(lambda: api.node_of("plain") == "a" and api.events_of("odd"))
        monkeypatch.undo()
        await until(lambda: api.node_of("odd") == "a", seconds=15.0)

    play(api, story)
    assert ("FailedScheduling", "ZeroDivisionError: a case nobody thought of") in api.events_of("odd")


def test_a_status_that_was_forbidden_is_written_later():
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("large", cpu="2")
    rule = api.always("PATCH", "/status", Forbidden(403, "Forbidden", "the roles are not loaded yet"))

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: api.count()["PATCH status"])
        api.rules.remove(rule)
        await until(lambda: api.condition("large"), seconds=310.0)

    play(api, story)


def test_garbled_reads_are_as_good_as_none():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", Unreachable("no answer"), takes_effect=True)
    api.fail("/pods/p", Garbled("GET", "half an answer"))

    async def story(api: FakeApi, running: Running) -> None:
        await until(lambda: running.scheduler.num_bound == 1)

    play(api, story)
