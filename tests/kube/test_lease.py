"""Leader election: two candidates on one lease, with clocks that the test turns."""

import asyncio
import json
from typing import Any

import pytest

from longshore.kube import errors
from longshore.kube.lease import LeaderElection, LeadershipLostError

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class Leases:
    """The API server's side of one lease, in memory, with its optimistic locking; it can be made to fail."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.fails: errors.ApiError | None = None
        self.loses_answers = False
        self.num_requests = 0

    async def request(self, method: str, path: str, *, body: Any = None, timeout_seconds: float = 30.0) -> bytes:
        self.num_requests += 1
        assert timeout_seconds > 0
        if self.fails is not None and not self.loses_answers:
            raise self.fails
        answer = self._answer(method, path, body)
        if self.fails is not None and self.loses_answers:
            raise self.fails
        return json.dumps(answer).encode()

    def _answer(self, method: str, path: str, body: Any) -> dict[str, Any]:
        if method == "POST":
            assert path == PATH
            if self.lease is not None:
                raise errors.Conflict(409, "AlreadyExists", "it is there")
        else:
            assert path == f"{PATH}/lock"
            if self.lease is None:
                raise errors.NotFound(404, "NotFound", "it is not there")
        if method == "GET":
            assert self.lease is not None
            return self.lease
        if method == "PUT" and body["metadata"].get("resourceVersion") != str(self.version):
            raise errors.Conflict(409, "Conflict", "the object has been modified")
        self.version += 1
        meta = body["metadata"] | {"resourceVersion": str(self.version), "managedFields": []}
        self.lease = body | {"metadata": meta}
        return self.lease


@pytest.fixture
def api() -> Leases:
    return Leases()


def candidate(api: Leases, name: str, clock: Clock, skew: float = 0.0) -> LeaderElection:
    return LeaderElection(
        api, "ns", "lock", name, sleep=clock.sleep, monotonic=clock.time, wall=lambda: clock.now + skew
    )


async def test_the_first_candidate_leads(api: Leases) -> None:
    one = candidate(api, "one", Clock())
    assert not one.is_leader
    await one.acquire()
    assert one.is_leader
    assert api.lease["spec"]["holderIdentity"] == "one"
    assert api.lease["spec"]["leaseDurationSeconds"] == 15
    assert api.lease["spec"]["acquireTime"] == "1970-01-01T00:16:40.000000Z"


async def test_the_second_candidate_does_not_lead(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    assert await one.try_acquire()
    assert not await two.try_acquire()
    assert (two.is_leader, two.holder) == (False, "one")


async def test_a_holder_that_renews_keeps_the_lease(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    for _ in range(20):
        clock.now += 2.0
        assert await one.try_acquire()
        assert not await two.try_acquire()
    assert api.lease["spec"]["leaseTransitions"] == 0


async def test_a_silent_holder_loses_the_lease_after_its_time(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    assert not await two.try_acquire()
    clock.now += 14.9
    assert not await two.try_acquire()
    clock.now += 0.2
    assert await two.try_acquire()
    assert not one.is_leader
    assert api.lease["spec"]["holderIdentity"] == "two"
    assert api.lease["spec"]["leaseTransitions"] == 1


async def test_waiting_for_a_silent_holder_takes_little_longer_than_the_lease(api: Leases) -> None:
    clock = Clock()
    await candidate(api, "one", clock).acquire()
    began = clock.now
    await candidate(api, "two", clock).acquire()
    assert 15.0 <= clock.now - began <= 15.2


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
async def test_clocks_that_differ_do_no_harm(api: Leases, skew: float) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock, skew)
    await one.acquire()
    for _ in range(10):
        clock.now += 2.0
        assert await one.try_acquire()
        assert not await two.try_acquire()


async def test_a_lease_seen_for_the_first_time_is_waited_for_even_if_it_looks_old(api: Leases) -> None:
    clock = Clock()
    await candidate(api, "one", clock).acquire()
    clock.now += 1000.0
    two = candidate(api, "two", clock)
    assert not await two.try_acquire()


async def test_a_first_look_starts_the_time_of_a_silent_holder(api: Leases) -> None:
    clock = Clock()
    await candidate(api, "one", clock).acquire()
    two = candidate(api, "two", clock)
    await two.look()
    clock.now += 15.1
    assert await two.try_acquire()


async def test_a_look_at_no_lease_is_fine(api: Leases) -> None:
    two = candidate(api, "two", Clock())
    await two.look()
    assert await two.try_acquire()


async def test_a_released_lease_is_taken_at_once(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    await one.release()
    assert not one.is_leader
    assert await two.try_acquire()


async def test_who_does_not_lead_releases_nothing(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    await two.try_acquire()
    await two.release()
    assert api.lease["spec"]["holderIdentity"] == "one"


async def test_of_two_that_see_a_free_lease_one_leads(api: Leases) -> None:
    clock = Clock()
    await candidate(api, "old", clock).acquire()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    assert not await one.try_acquire()
    assert not await two.try_acquire()
    clock.now += 16.0
    results = await asyncio.gather(one.try_acquire(), two.try_acquire())
    assert sorted(results) == [False, True]
    assert one.is_leader != two.is_leader


async def test_holding_ends_when_the_server_is_away_for_the_deadline(api: Leases) -> None:
    clock = Clock()
    one = candidate(api, "one", clock)
    await one.acquire()
    api.fails = errors.Unreachable("nobody answers")
    began = clock.now
    with pytest.raises(LeadershipLostError, match=r"`ns/lock`.*within 10 s: nobody answers"):
        await one.hold()
    assert not one.is_leader
    assert 10.0 <= clock.now - began < 15.0, "it must be over before another may take the lease"


async def test_holding_survives_a_server_that_is_away_for_a_moment(api: Leases) -> None:
    clock = Clock()
    one = candidate(api, "one", clock)
    await one.acquire()
    holding = asyncio.create_task(one.hold())
    for is_away in (False, True, False, True, False):
        api.fails = errors.Unreachable("nobody answers") if is_away else None
        before, end = api.num_requests, clock.now + 6.0
        while clock.now < end:
            await asyncio.sleep(0)
        assert api.num_requests > before
    assert not holding.done()
    assert one.is_leader
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding


async def test_holding_ends_when_another_has_taken_the_lease(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    await two.try_acquire()
    clock.now += 16.0
    assert await two.try_acquire()
    with pytest.raises(LeadershipLostError, match="`two` holds it"):
        await one.hold()


async def test_a_holder_that_was_stopped_gives_way_to_its_successor_at_once(api: Leases) -> None:
    clock = Clock()
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    await one.acquire()
    await two.try_acquire()
    clock.now += 16.0
    assert await two.try_acquire()
    began = clock.now
    with pytest.raises(LeadershipLostError, match="`two` holds it"):
        await one.hold()
    assert clock.now - began <= 2.0, "whoever sees another holder must not go on until the deadline"


async def test_our_time_runs_from_when_the_renewal_was_sent(api: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    one = candidate(api, "one", clock)
    await one.acquire()
    answer = api.request

    async def late(*arguments: Any, **named: Any) -> bytes:
        body = await answer(*arguments, **named)
        clock.now += 16.0
        return body

    monkeypatch.setattr(api, "request", late)
    clock.now += 1.0
    await one.try_acquire()
    assert not one.is_leader


async def test_a_renewal_whose_answer_was_lost_is_not_taken_for_another_holder(api: Leases) -> None:
    clock = Clock()
    one = candidate(api, "one", clock)
    await one.acquire()
    api.fails, api.loses_answers = errors.Unreachable("the answer is lost"), True
    assert not await one.try_acquire()
    api.fails = None
    assert await one.try_acquire()
    assert api.lease["spec"]["leaseTransitions"] == 0


async def test_missing_rights_are_said_at_once(api: Leases) -> None:
    api.fails = errors.Forbidden(403, "Forbidden", "leases is forbidden")
    with pytest.raises(errors.Forbidden, match="leases is forbidden"):
        await candidate(api, "one", Clock()).acquire()


async def test_who_waits_survives_a_server_that_refuses_while_it_starts(api: Leases) -> None:
    clock = Clock()
    await candidate(api, "one", clock).acquire()
    two = candidate(api, "two", clock)
    assert not await two.try_acquire()
    api.fails = errors.Forbidden(403, "Forbidden", "RBAC has not read its rules")
    waiting = asyncio.create_task(two.acquire())
    while clock.now < 1010.0:
        await asyncio.sleep(0)
    api.fails = None
    await waiting
    assert two.is_leader


def test_times_that_make_no_sense_are_refused(api: Leases) -> None:
    with pytest.raises(ValueError, match="outlast"):
        LeaderElection(api, "ns", "lock", "one", lease_seconds=5.0)
