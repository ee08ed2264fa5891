"""The live loop against an API server in memory: who is bound where, what is said, and what happens in trouble."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from longshore.core.arrays.ops import Array
from longshore.deciding.preempt import VictimSearch
from longshore.kube.errors import ApiError, Forbidden, TooManyRequests, Unreachable
from longshore.kube.resources import NODES, PODS
from longshore.policies.base import Policy
from longshore.scheduling import loop
from support.fake_api import FakeApi
from support.scheduler import Running, scheduling, until


def say_of(api: FakeApi, name: str, reason: str) -> list[str]:
    return [note for what, note in api.events_of(name) if what == reason]


async def test_pods_are_bound_with_one_request_and_one_event_each():
    api = FakeApi()
    for node in "ab":
        api.node(node)
    for i in range(6):
        api.pod(f"p{i}")
    async with scheduling(api) as running:
        await until(lambda: all(api.node_of(f"p{i}") for i in range(6)))
        api.pod("late")
        await until(lambda: api.node_of("late"))
    assert api.count() == {"POST binding": 7, "POST events": 7}
    assert say_of(api, "late", "Scheduled") == [f"Successfully assigned default/late to {api.node_of('late')}"]
    assert running.scheduler.num_bound == 7
    assert (len(running.queue), running.cycle.view.num_assumed) == (0, 0)


async def test_rooms_are_kept_by_assumed_pods_before_the_watch_shows_them():
    api = FakeApi()
    api.watches_pods = False
    api.node("a", cpu="2")
    for i in range(3):
        api.pod(f"p{i}")
    async with scheduling(api):
        await until(lambda: api.condition("p2"))
    assert sorted(api.node_of(f"p{i}") for i in range(3)) == ["", "a", "a"]


async def test_higher_priorities_are_first():
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("low")
    api.pod("high", priority=10)
    async with scheduling(api):
        await until(lambda: api.condition("low"))
    assert (api.node_of("low"), api.node_of("high")) == ("", "a")


async def test_a_pod_that_fits_nowhere_is_told_so_in_upstreams_words_and_once():
    api = FakeApi()
    api.node("a", cpu="1")
    api.node("b", cpu="4", taints=[{"key": "off", "effect": "NoSchedule"}])
    api.pod("p", cpu="2")
    async with scheduling(api) as running:
        await until(lambda: api.condition("p"))
        running.queue.activate("default/p")
        running.scheduler.wake()
        await asyncio.sleep(0.05)
    message = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    condition = api.condition("p")
    assert condition is not None
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", message)
    assert say_of(api, "p", "FailedScheduling") == [message]
    assert api.count() == {"PATCH status": 1, "POST events": 1}


async def test_a_new_node_helps_at_once_after_the_backoff():
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("p", cpu="2")
    async with scheduling(api):
        await until(lambda: api.condition("p"))
        api.node("b")
        await until(lambda: api.node_of("p") == "b")


async def test_a_deleted_pod_makes_room_for_one_that_waits():
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("old", node="a")
    api.pod("p")
    async with scheduling(api):
        await until(lambda: api.condition("p"))
        api.drop(PODS, "default/old")
        await until(lambda: api.node_of("p") == "a")


async def test_without_nodes_it_says_so_and_tries_again():
    api = FakeApi()
    api.pod("p")
    async with scheduling(api):
        await until(lambda: say_of(api, "p", "FailedScheduling"))
        assert say_of(api, "p", "FailedScheduling") == ["no nodes available to schedule pods"]
        api.node("a")
        await until(lambda: api.node_of("p") == "a")


async def test_gated_and_foreign_pods_are_left_alone():
    api = FakeApi()
    api.node("a")
    api.pod("gated", schedulingGates=[{"name": "quota"}])
    api.pod("foreign", schedulerName="default-scheduler")
    api.pod("ours")
    async with scheduling(api):
        await until(lambda: api.node_of("ours"))
        assert (api.node_of("gated"), api.node_of("foreign")) == ("", "")
        assert api.count() == {"POST binding": 1, "POST events": 1} or api.count() == {"POST binding": 1}
        pod = api.get("gated")
        assert pod is not None
        api.put(PODS, pod | {"spec": pod["spec"] | {"schedulingGates": []}})
        await until(lambda: api.node_of("gated"))


async def test_pods_of_other_schedulers_use_room():
    api = FakeApi()
    api.node("a", cpu="1")
    api.node("b", cpu="1")
    api.pod("foreign", node="a", schedulerName="default-scheduler")
    api.pod("ours")
    async with scheduling(api):
        await until(lambda: api.node_of("ours"))
    assert api.node_of("ours") == "b"


async def test_an_unsupported_need_leaves_the_pod_pending_and_names_the_field():
    api = FakeApi()
    api.node("a")
    api.pod("p", resourceClaims=[{"name": "gpu"}])
    async with scheduling(api):
        await until(lambda: api.events_of("p"))
    assert api.node_of("p") == ""
    assert "spec.resourceClaims" in say_of(api, "p", "FailedScheduling")[0]


async def test_a_pod_that_cannot_be_read_is_told_which_field():
    api = FakeApi()
    api.node("a")
    api.pod("p", cpu="many")
    async with scheduling(api):
        await until(lambda: api.events_of("p"))
    assert "spec.containers[0].resources.requests.cpu" in say_of(api, "p", "FailedScheduling")[0]


async def test_a_replica_that_only_waits_tells_nobody_anything():
    api = FakeApi()
    api.node("a")
    running = Running(api)
    api.pod("p", cpu="many")
    api.pod("q", cpu="1")
    await asyncio.sleep(0.05)
    assert api.requests == []
    task = asyncio.create_task(running.scheduler.run())
    await until(lambda: api.events_of("p") and api.node_of("q"))
    running.scheduler.stop()
    await task
    await running.scheduler.finish()


async def test_a_lost_answer_is_followed_by_a_read_and_no_second_binding():
    api = FakeApi()
    api.watches_pods = False
    api.node("a")
    api.pod("p")
    api.fail("/binding", Unreachable("no answer within 10 s"), takes_effect=True)
    async with scheduling(api) as running:
        await until(lambda: api.events_of("p"))
    assert api.node_of("p") == "a"
    assert [method for method, path in api.requests if "events" not in path] == ["POST", "GET"]
    assert running.scheduler.num_bound == 1


async def test_a_lost_request_is_sent_again_after_the_read():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", Unreachable("connection lost"))
    async with scheduling(api):
        await until(lambda: api.node_of("p"))
    assert [method for method, path in api.requests if "events" not in path] == ["POST", "GET", "POST"]


async def test_a_request_that_was_never_sent_is_sent_again_without_a_read():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", Unreachable("connection refused", was_sent=False))
    api.fail("/binding", TooManyRequests(429, "TooManyRequests", "later", retry_after=0.01))
    async with scheduling(api):
        await until(lambda: api.node_of("p"))
    assert api.count()["POST binding"] == 3
    assert "GET p" not in api.count()


async def test_a_server_that_cannot_answer_the_read_is_asked_until_it_can():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", ApiError(500, "InternalError", "etcd is away"), takes_effect=False)
    api.fail("/pods/p", ApiError(503, "ServiceUnavailable", "still away"))
    async with scheduling(api):
        await until(lambda: api.node_of("p"))
    assert [method for method, path in api.requests if "events" not in path] == ["POST", "GET", "GET", "POST"]


async def test_a_pod_that_somebody_else_bound_is_forgotten():
    api = FakeApi()
    api.node("a")
    api.node("b")
    api.watches_pods = False
    pod = api.pod("p", nodeSelector={"kubernetes.io/hostname": "a"})
    async with scheduling(api) as running:
        api.put(PODS, pod | {"spec": pod["spec"] | {"nodeName": "b"}})
        await until(lambda: api.count()["GET p"])
        await until(lambda: running.cycle.view.num_assumed == 0)
        assert running.scheduler.num_bound == 0
        assert len(running.queue) == 0
    assert say_of(api, "p", "Scheduled") == []


async def test_a_pod_deleted_in_flight_gives_its_room_back():
    api = FakeApi()
    api.gate = asyncio.Event()
    api.node("a", cpu="1")
    api.pod("p")
    async with scheduling(api) as running:
        await until(lambda: api.count()["POST binding"])
        assert running.cycle.view.num_assumed == 1
        api.drop(PODS, "default/p")
        assert running.cycle.view.num_running == 0
        api.gate.set()
        api.gate = None
        api.pod("next")
        await until(lambda: api.node_of("next"))


async def test_a_pod_made_anew_under_the_same_name_is_bound_as_itself():
    api = FakeApi()
    api.gate = asyncio.Event()
    api.node("a")
    api.pod("p")
    async with scheduling(api):
        await until(lambda: api.count()["POST binding"] == 1)
        api.drop(PODS, "default/p")
        fresh = api.pod("p")
        api.gate.set()
        await until(lambda: api.node_of("p"))
        bound = api.get("p")
    assert bound is not None
    assert bound["metadata"]["uid"] == fresh["metadata"]["uid"]


async def test_a_node_that_is_gone_before_the_binding_is_sent_takes_no_pod():
    api = FakeApi()
    api.node("a")
    api.node("b")
    api.pod("p", nodeSelector={"kubernetes.io/hostname": "a"})
    api.fail("/binding", Unreachable("connection refused", was_sent=False))
    async with scheduling(api) as running:
        await until(lambda: api.count()["POST binding"] == 1)
        api.drop(NODES, "a")
        await until(lambda: api.condition("p"))
        assert running.cycle.view.num_running == 0
    assert api.count()["POST binding"] == 1


async def test_a_refused_binding_is_told_and_tried_again_later():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", Forbidden(403, "Forbidden", "an admission plugin says no"))
    async with scheduling(api):
        await until(lambda: api.events_of("p"))
        assert say_of(api, "p", "FailedScheduling") == ["binding rejected: an admission plugin says no"]
        await until(lambda: api.node_of("p"))


async def test_preemption_evicts_nominates_and_then_binds():
    api = FakeApi()
    api.node("a", cpu="2")
    api.pod("victim", cpu="2", node="a")
    api.pod("boss", cpu="2", priority=100)
    async with scheduling(api):
        await until(lambda: api.node_of("boss") == "a")
    assert api.get("victim") is None
    uid = (api.get("boss") or {})["metadata"]["uid"]
    assert say_of(api, "victim", "Preempted") == [f"Preempted by pod {uid} on node a"]
    related = next(event["related"] for event in api.events if event["reason"] == "Preempted")
    assert related["name"] == "boss"
    assert say_of(api, "boss", "FailedScheduling") == ["0/1 nodes are available: 1 Insufficient cpu."]
    assert (api.get("boss") or {})["status"]["nominatedNodeName"] == "a"
    assert api.count()["DELETE victim"] == 1


async def test_preemption_respects_budgets_where_it_can():
    api = FakeApi()
    for node in "ab":
        api.node(node, cpu="1")
        api.pod(f"on-{node}", node=node, labels={"app": node})
    api.budget("keep-a", {"app": "a"}, allowed=0)
    api.pod("boss", priority=100)
    async with scheduling(api):
        await until(lambda: api.node_of("boss"))
    assert (api.node_of("boss"), api.get("on-a") is not None, api.get("on-b")) == ("b", True, None)


def full(nodes: str) -> FakeApi:
    """A cluster of full nodes, with a pod that others have to leave for."""
    api = FakeApi()
    for node in nodes:
        api.node(node, cpu="2")
        for i in range(2):
            api.pod(f"on-{node}-{i}", node=node)
    api.pod("boss", cpu="2", priority=100)
    return api


def at_every_step(running: Running, happen: Callable[[int], object]) -> None:
    """Interrupt a search for victims at every step, and let something happen each time."""
    steps = itertools.count()

    def clock() -> float:
        step = next(steps)
        happen(step)
        return float(step)

    running.cycle.clock = clock


async def test_others_are_bound_while_victims_are_looked_for():
    api = full("abc")
    api.node("free", cpu="1")
    async with scheduling(api) as running:
        at_every_step(running, lambda step: api.pod(f"small-{step}", cpu="1m"))
        await until(lambda: api.node_of("boss"))
        running.cycle.clock = time.perf_counter
    bound = [path.split("/")[-2] for _, path in api.requests if path.endswith("/binding")]
    assert len([name for name in bound[: bound.index("boss")] if name.startswith("small-")]) >= 2


async def test_a_search_waits_for_a_slot_without_going_round_and_round(monkeypatch: pytest.MonkeyPatch):
    api = full("ab")
    api.node("free", cpu="1")
    monkeypatch.setattr(loop, "MAX_BINDS_IN_FLIGHT", 1)
    async with scheduling(api) as running:
        ticks, tick = itertools.count(), running.queue.tick
        monkeypatch.setattr(running.queue, "tick", lambda: (next(ticks), tick()))
        api.gate = asyncio.Event()

        def happen(step: int) -> None:
            if step == 1:
                api.pod("small", cpu="1m", priority=200)  # it takes the one slot, and keeps it

        at_every_step(running, happen)
        await until(lambda: api.at_once)
        before = next(ticks)
        await asyncio.sleep(0.2)
        assert next(ticks) - before < 20
        api.gate.set()
        await until(lambda: api.node_of("boss"))


async def test_a_pod_that_is_deleted_during_its_search_ends_it():
    api = full("ab")
    async with scheduling(api) as running:
        at_every_step(running, lambda step: step == 1 and api.drop(PODS, "default/boss"))
        await until(lambda: api.get("boss") is None)
        api.node("free")
        api.pod("late")
        await until(lambda: api.node_of("late") == "free")
        await until(lambda: not running.cycle._searches)
    assert not [what for what in api.count() if what.startswith("DELETE")]


async def test_a_search_that_fails_costs_that_pod_alone(monkeypatch: pytest.MonkeyPatch):
    api = full("ab")
    api.node("free", cpu="1")
    monkeypatch.setattr(VictimSearch, "result", lambda *_, **__: 1 / 0)
    async with scheduling(api) as running:
        at_every_step(running, lambda _: None)
        api.pod("small")
        await until(lambda: api.node_of("small") == "free")
        await until(lambda: say_of(api, "boss", "FailedScheduling"))
    assert say_of(api, "boss", "FailedScheduling") == ["ZeroDivisionError: division by zero"]


async def test_room_made_for_a_pod_is_not_taken_by_a_lesser_one():
    api = FakeApi()
    api.node("a", cpu="2")
    api.pod("victim", cpu="2", node="a", terminationGracePeriodSeconds=30)
    api.pod("boss", cpu="2", priority=100)
    api.fail("/pods/victim", ApiError(500, "InternalError", "not now"))  # the eviction takes a second try
    async with scheduling(api):
        await until(lambda: (api.get("boss") or {})["status"].get("nominatedNodeName") == "a")
        api.pod("small", cpu="1")
        await until(lambda: api.node_of("boss") == "a")
    assert api.node_of("small") == ""


async def test_a_pod_that_may_not_preempt_says_so():
    api = FakeApi()
    api.node("a", cpu="1")
    api.pod("other", node="a")
    api.pod("polite", priority=100, preemptionPolicy="Never")
    async with scheduling(api):
        await until(lambda: api.events_of("polite"))
    assert api.get("other") is not None
    assert say_of(api, "polite", "FailedScheduling") == [
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    ]


async def test_a_policy_that_prefers_to_wait_is_asked_again_after_the_backoff():
    asked: list[float] = []

    def score(arrays: Any, _pod_class: Array, _feasible: Array) -> Array:
        asked.append(time.monotonic())
        return arrays.nodes.name_rank * 0.0 + (-1.0 if len(asked) < 2 else 1.0)

    api = FakeApi()
    api.node("a")
    api.pod("p")
    async with scheduling(api, own=Policy(score, may_defer=True)):
        await until(lambda: api.node_of("p"))
    assert asked[1] - asked[0] >= 0.99
    assert "prefers to wait" in say_of(api, "p", "FailedScheduling")[0]


async def test_a_policy_that_fails_is_replaced_by_the_default_for_that_decision():
    def score(_arrays: Any, _pod_class: Array, _feasible: Array) -> Array:
        raise ValueError("weights of another world")

    api = FakeApi()
    api.node("a")
    api.pod("p")
    async with scheduling(api, own=Policy(score)) as running:
        await until(lambda: api.node_of("p") == "a")
    metrics = running.scheduler._parts.metrics
    assert metrics.registry.get_sample_value("longshore_fallback_total", {"reason": "ValueError"}) == 1


async def test_stopping_waits_for_the_bindings_under_way():
    api = FakeApi()
    api.gate = asyncio.Event()
    api.node("a", cpu="8")
    for i in range(5):
        api.pod(f"p{i}")
    async with scheduling(api):
        await until(lambda: api.count()["POST binding"] == 5)
        asyncio.get_running_loop().call_later(0.1, api.gate.set)
    assert all(api.node_of(f"p{i}") for i in range(5))


async def test_after_the_lead_is_lost_nothing_is_bound():
    api = FakeApi()
    api.node("a")
    for i in range(3):
        api.pod(f"p{i}")
        api.fail("/binding", Unreachable("connection refused", was_sent=False))
    running = Running(api)
    task = asyncio.create_task(running.scheduler.run())
    await until(lambda: api.count()["POST binding"] == 3)
    await running.scheduler.abandon()
    await task
    api.pod("later")
    await asyncio.sleep(0.3)
    assert api.count()["POST binding"] == 3


async def test_nothing_is_decided_while_the_lease_may_have_run_out():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    running = Running(api)
    is_ours = False
    running.scheduler.leads = lambda: is_ours
    task = asyncio.create_task(running.scheduler.run())
    await asyncio.sleep(0.3)
    assert api.count()["POST binding"] == 0
    is_ours = True
    await until(lambda: api.node_of("p") == "a")
    running.scheduler.stop()
    await task
    await running.scheduler.finish()


async def test_a_binding_under_way_is_not_sent_again_when_the_lease_may_have_run_out():
    api = FakeApi()
    api.node("a")
    api.pod("p")
    api.fail("/binding", Unreachable("connection refused", was_sent=False))
    async with scheduling(api) as running:
        await until(lambda: api.count()["POST binding"] == 1)
        running.scheduler.leads = lambda: False
        await asyncio.sleep(0.3)
    assert api.count()["POST binding"] == 1


async def test_bindings_in_flight_are_bounded():
    api = FakeApi()
    api.gate = asyncio.Event()
    api.node("a", cpu="1000", pods="1000")
    for i in range(100):
        api.pod(f"p{i}", cpu="1m")
    async with scheduling(api):
        await until(lambda: api.count()["POST binding"] >= 64)
        await asyncio.sleep(0.05)
        assert api.count()["POST binding"] == 64
        api.gate.set()
        await until(lambda: all(api.node_of(f"p{i}") for i in range(100)))


async def test_the_event_loop_gets_air_between_decisions(monkeypatch: pytest.MonkeyPatch):
    """Every look at the clock takes a millisecond: no more than a slice of them may follow each other."""
    api = FakeApi()
    api.node("a", cpu="1000", pods="1000")
    for i in range(300):
        api.pod(f"p{i}", cpu="1m")
    ticks = itertools.count()
    clock = SimpleNamespace(**{name: getattr(time, name) for name in ("thread_time", "time", "time_ns")})
    clock.perf_counter = lambda: next(ticks) / 1000
    monkeypatch.setattr(loop, "time", clock)
    turn, turns_of_decisions = itertools.count(), Counter[int]()
    now = 0

    async def breathe() -> None:
        nonlocal now
        while True:
            now = next(turn)
            await asyncio.sleep(0)

    async with scheduling(api) as running:
        breathing = asyncio.create_task(breathe())
        attempt = running.cycle.attempt
        monkeypatch.setattr(
            running.cycle, "attempt", lambda *a, **k: (turns_of_decisions.update([now]), attempt(*a, **k))[1]
        )
        await until(lambda: all(api.node_of(f"p{i}") for i in range(300)), seconds=30)
        breathing.cancel()
    assert turns_of_decisions.total() == 300
    assert max(turns_of_decisions.values()) <= 5
