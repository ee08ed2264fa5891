"""Leader election where requests take time: some hang, some are slow, and never do two lead."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kube.test_lease import Leases
from longshore.kube import errors
from longshore.kube.lease import LEASE_SECONDS, RENEW_DEADLINE_SECONDS, LeaderElection, LeadershipLostError
from support import virtual_time


class SlowLeases(Leases):
    """The same server, whose requests take the seconds that `takes` says; half of them before they take effect."""

    def __init__(self, takes: Callable[[int], float]) -> None:
        super().__init__()
        self.takes = takes
        self.num_sent = 0

    async def request(self, method: str, path: str, *, body: Any = None, timeout_seconds: float = 30.0) -> bytes:
        seconds = self.takes(self.num_sent)
        self.num_sent += 1
        try:
            async with asyncio.timeout(timeout_seconds):
                await asyncio.sleep(seconds / 2)
                answer = await super().request(method, path, body=body, timeout_seconds=timeout_seconds)
                await asyncio.sleep(seconds / 2)
                return answer
        except TimeoutError as error:
            raise errors.Unreachable(f"no answer within {timeout_seconds:g} s") from error


def candidate(api: Leases, name: str) -> LeaderElection:
    now = asyncio.get_running_loop().time
    rng = random.Random(name)
    return LeaderElection(api, "ns", "lock", name, monotonic=now, wall=now, rng=rng)  # type: ignore[arg-type]


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    virtual_time.run(work())


async def held_for(one: LeaderElection, seconds: float) -> bool:
    """Hold the lease; say whether it is still held after that time."""
    try:
        async with asyncio.timeout(seconds):
            await one.hold()
    except TimeoutError:
        return one.is_leader
    except LeadershipLostError:
        return False
    raise AssertionError("holding ended without a reason")


@pytest.mark.parametrize("hung", [1, 3, 7])
def test_one_request_that_hangs_does_not_cost_the_lease(hung: int):
    async def work() -> None:
        api = SlowLeases(lambda number: 1000.0 if number == hung + 2 else 0.01)
        one = candidate(api, "one")
        await one.acquire()
        assert await held_for(one, 60.0)
        assert api.num_requests > hung + 3

    in_virtual_time(work)


def test_a_server_that_takes_four_seconds_for_each_request_does_not_cost_the_lease():
    async def work() -> None:
        one = candidate(SlowLeases(lambda number: 4.0), "one")
        await one.acquire()
        assert await held_for(one, 120.0)

    in_virtual_time(work)


def test_when_all_requests_hang_the_holder_gives_up_before_the_lease_runs_out():
    async def work() -> None:
        api = SlowLeases(lambda number: 0.01)
        one = candidate(api, "one")
        await one.acquire()
        now = asyncio.get_running_loop().time
        api.takes = lambda number: 1000.0
        began = now()
        assert not await held_for(one, 60.0)
        assert now() - began <= RENEW_DEADLINE_SECONDS + 2.5 < LEASE_SECONDS

    in_virtual_time(work)


@given(st.lists(st.sampled_from([0.01, 0.5, 3.0, 6.0, 11.0, 1000.0]), min_size=1, max_size=40))
def test_two_candidates_never_lead_at_once(delays: list[float]):
    async def work() -> None:
        api = SlowLeases(lambda number: delays[number % len(delays)])
        both = [candidate(api, "one"), candidate(api, "two")]

        async def lead(one: LeaderElection) -> None:
            while True:
                await one.acquire()
                try:
                    await one.hold()
                except LeadershipLostError:
                    assert not one.is_leader

        leading = [asyncio.create_task(lead(one)) for one in both]
        for _ in range(400):
            await asyncio.sleep(0.5)
            assert sum(one.is_leader for one in both) <= 1
        for task in leading:
            assert not task.done()
            task.cancel()
        await asyncio.gather(*leading, return_exceptions=True)

    in_virtual_time(work)
