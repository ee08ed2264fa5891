"""Binding: every answer and every lost answer ends in one known fate, and a pod is never bound twice."""

from dataclasses import replace
from typing import Any, cast

import pytest

from longshore.core.words.pod import Pod
from longshore.kube.errors import ApiError, Conflict, Forbidden, Garbled, TooManyRequests, Unreachable
from longshore.kube.resources import PODS
from longshore.scheduling.binder import DEADLINE_SECONDS, Binder, Fate
from support.builders import make_pod
from support.fake_api import FakeApi

LOST_ANSWER = Unreachable("no answer")
NOT_SENT = Unreachable("connection refused", was_sent=False)


def binder_of(api: FakeApi, waits: list[float] | None = None, **more: Any) -> Binder:
    slept = waits if waits is not None else []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    given = {"may_bind": lambda pod: True, "sleep": sleep, "clock": lambda: sum(slept), **more}
    return Binder(cast("Any", api), **given)


def assumed(api: FakeApi) -> Pod:
    uid = api.pod("p")["metadata"]["uid"]
    return replace(make_pod("p").on("a").build(), uid=uid)


async def test_a_binding_is_one_request():
    api = FakeApi()
    pod = assumed(api)
    assert (await binder_of(api).bind(pod, {"note": "x"})).fate is Fate.BOUND
    assert [method for method, _ in api.requests] == ["POST"]


@pytest.mark.parametrize("takes_effect", [True, False])
async def test_after_a_lost_answer_the_pod_is_read_first(takes_effect: bool):
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", LOST_ANSWER, takes_effect=takes_effect)
    assert (await binder_of(api).bind(pod)).fate is Fate.BOUND
    assert [method for method, _ in api.requests] == ["POST", "GET"] + ([] if takes_effect else ["POST"])
    assert api.node_of("p") == "a"


async def test_waits_grow_while_the_server_is_away():
    api, waits = FakeApi(), []
    pod = assumed(api)
    for _ in range(7):
        api.fail("/binding", NOT_SENT)
    assert (await binder_of(api, waits).bind(pod)).fate is Fate.BOUND
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0]


async def test_a_server_that_asks_for_patience_gets_it():
    api, waits = FakeApi(), []
    pod = assumed(api)
    api.fail("/binding", TooManyRequests(429, "", "", retry_after=3.0))
    assert (await binder_of(api, waits).bind(pod)).fate is Fate.BOUND
    assert waits == [3.0]


async def test_a_pod_bound_elsewhere_is_lost():
    api = FakeApi()
    pod = assumed(api)
    found = api.get("p") or {}
    api.put(PODS, found | {"spec": found["spec"] | {"nodeName": "b"}})
    bound = await binder_of(api).bind(pod)
    assert (bound.fate, bound.message) == (Fate.LOST, "it is bound to b")


async def test_a_conflict_about_our_own_binding_is_success():
    api = FakeApi()
    pod = assumed(api)
    found = api.get("p") or {}
    api.put(PODS, found | {"spec": found["spec"] | {"nodeName": "a"}})
    assert (await binder_of(api).bind(pod)).fate is Fate.BOUND


async def test_a_conflict_about_a_pod_that_waits_goes_back_to_the_queue():
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", Conflict(409, "Conflict", "try again"))
    assert (await binder_of(api).bind(pod)).fate is Fate.REFUSED
    assert [method for method, _ in api.requests] == ["POST", "GET"]


@pytest.mark.parametrize("what", ["gone", "made anew", "being deleted"])
async def test_a_pod_that_is_no_longer_the_same_is_lost(what: str):
    api = FakeApi()
    pod = assumed(api)
    if what == "being deleted":
        found = api.get("p") or {}
        api.put(PODS, found | {"metadata": found["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        api.fail("/binding", Conflict(409, "Conflict", "pod p is being deleted, cannot be assigned to a host"))
    else:
        api.drop(PODS, "default/p")
    if what == "made anew":
        api.pod("p")
    assert (await binder_of(api).bind(pod)).fate is Fate.LOST
    assert api.node_of("p") == ""


async def test_what_the_server_refuses_is_not_repeated():
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", Forbidden(403, "Forbidden", "no"))
    bound = await binder_of(api).bind(pod)
    assert (bound.fate, bound.message, len(api.requests)) == (Fate.REFUSED, "no", 1)


async def test_a_read_that_is_owed_is_made_even_if_the_server_refuses_it_at_first():
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", LOST_ANSWER, takes_effect=True)
    api.fail("/pods/p", Forbidden(403, "Forbidden", "the roles are not loaded yet"))
    assert (await binder_of(api).bind(pod)).fate is Fate.BOUND
    assert [method for method, _ in api.requests] == ["POST", "GET", "GET"]


async def test_nothing_is_sent_where_it_may_not_be_any_more():
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", NOT_SENT)
    answers = iter([True, False])
    bound = await binder_of(api, may_bind=lambda pod: next(answers)).bind(pod)
    assert (bound.fate, len(api.requests)) == (Fate.WITHDRAWN, 1)


async def test_the_failpoints_stand_before_and_after_the_call():
    api, passed = FakeApi(), []
    pod = assumed(api)

    def failpoint(name: str) -> None:
        passed.append((name, api.node_of("p")))

    await binder_of(api, failpoint=failpoint).bind(pod)
    assert passed == [("before-bind", ""), ("after-bind", "a")]


async def test_an_internal_error_may_have_bound_the_pod():
    api = FakeApi()
    pod = assumed(api)
    api.fail("/binding", ApiError(500, "InternalError", "etcd"), takes_effect=True)
    assert (await binder_of(api).bind(pod)).fate is Fate.BOUND
    assert [method for method, _ in api.requests] == ["POST", "GET"]


@pytest.mark.parametrize(
    "error", [ApiError(500, "InternalError", "webhook"), TooManyRequests(429, "", "", retry_after=99_999.0), NOT_SENT]
)
async def test_bindings_that_always_fail_are_given_up_at_the_deadline(error: ApiError):
    api, waits = FakeApi(), []
    pod = assumed(api)
    api.always("POST", "/binding", error)
    bound = await binder_of(api, waits).bind(pod)
    assert (bound.fate, bound.message) == (Fate.REFUSED, error.message)
    assert sum(waits) <= DEADLINE_SECONDS


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), LOST_ANSWER, Garbled("GET", "half an answer")])
@pytest.mark.parametrize("first", [Conflict(409, "Conflict", "bound"), LOST_ANSWER])
async def test_a_binding_of_which_nobody_can_tell_is_in_doubt(first: ApiError, error: ApiError):
    api, waits = FakeApi(), []
    pod = assumed(api)
    api.always("POST", "/binding", first)
    api.always("GET", "/pods/p", error)
    bound = await binder_of(api, waits).bind(pod)
    assert (bound.fate, bound.message) == (Fate.IN_DOUBT, error.message)
    assert sum(waits) <= DEADLINE_SECONDS
