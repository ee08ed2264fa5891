"""A state machine over the whole scheduler: whatever the server does, and in whatever order it says so.

Queue, cache, cycle, binder, preemption, events and statuses run as in earnest, in virtual time. After every step: no
node is overfull, no pod was bound twice, requests are bounded. At the end the server is well again, and every pod is
bound, or waits for a reason that is true.
"""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from longshore.kube.errors import ApiError, Forbidden, Garbled, NoCredentials, TooManyRequests, Unreachable
from longshore.kube.resources import NODES, PODS
from longshore.scheduling.queue import MAX_UNSCHEDULABLE_SECONDS
from support.fake_api import FakeApi
from support.scheduler import Running
from support.virtual_time import VirtualLoop

REQUESTS = [
    ("POST", "/binding"),
    ("GET", "/pods/"),
    ("PATCH", "/status"),
    ("DELETE", "/pods/"),
    ("POST", "/events"),
]
ERRORS: dict[str, Callable[[], BaseException | None]] = {
    "500": lambda: ApiError(500, "InternalError", "a webhook fails"),
    "429": lambda: TooManyRequests(429, "TooManyRequests", "later", retry_after=7.0),
    "429 for ever": lambda: TooManyRequests(429, "TooManyRequests", "later", retry_after=99_999.0),
    "403": lambda: Forbidden(403, "Forbidden", "no"),
    "reset": lambda: Unreachable("connection reset"),
    "not sent": lambda: Unreachable("connection refused", was_sent=False),
    "no credentials": lambda: NoCredentials("the program failed"),
    "garbage": lambda: Garbled("GET /", "not JSON"),
    "a bug of ours": lambda: ValueError("nobody expects this"),
    "hang": lambda: None,
}
NODES_OF_TWO, PODS_OF_TEN = st.sampled_from("abc"), st.integers(0, 9)
MOST_REQUESTS_PER_POD, MOST_REQUESTS_PER_POD_AND_SECOND = 40, 12


class Cluster(RuleBasedStateMachine):
    """A small cluster, a scheduler, and a server between them that may do anything."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        asyncio.set_event_loop(self.loop)
        self.api = FakeApi()
        self.largest: dict[str, int] = {}
        self.num_pods = 0
        self.began = self.loop.time()
        self.running = self.loop.run_until_complete(self._start())

    async def _start(self) -> Running:
        running = Running(self.api, clock=self.loop.time)
        running.cycle.clock = itertools.count().__next__  # a search for victims is interrupted at every step
        self.task = asyncio.create_task(running.scheduler.run())
        return running

    def _pass(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    @rule(name=NODES_OF_TWO, cpu=st.integers(1, 4))
    def add_node(self, name: str, cpu: int) -> None:
        # A node that comes back smaller is overfull by nobody's fault.
        self.largest[name] = max(cpu, self.largest.get(name, 0))
        self.api.node(name, cpu=str(self.largest[name]))

    @precondition(lambda self: self.api.objects["Node"])
    @rule(data=st.data())
    def drop_node(self, data: st.DataObject) -> None:
        self.api.drop(NODES, data.draw(st.sampled_from(sorted(self.api.objects["Node"]))))

    @rule(number=PODS_OF_TEN, cpu=st.integers(1, 3), priority=st.integers(0, 2))
    def add_pod(self, number: int, cpu: int, priority: int) -> None:
        if self.api.get(f"p{number}") is None:
            self.num_pods += 1
            self.api.pod(f"p{number}", cpu=str(cpu), priority=priority)

    @precondition(lambda self: self.api.objects["Pod"])
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        self.api.drop(PODS, data.draw(st.sampled_from(sorted(self.api.objects["Pod"]))))

    @rule(request=st.sampled_from(REQUESTS), error=st.sampled_from(sorted(ERRORS)), takes_effect=st.booleans())
    def break_requests(self, request: tuple[str, str], error: str, takes_effect: bool) -> None:
        has_effect = takes_effect and error in ("500", "reset", "hang", "garbage")
        self.api.always(*request, ERRORS[error](), takes_effect=has_effect)

    @precondition(lambda self: self.api.rules)
    @rule(data=st.data())
    def heal_requests(self, data: st.DataObject) -> None:
        self.api.rules.pop(data.draw(st.integers(0, len(self.api.rules) - 1)))

    @rule()
    def hold_watch(self) -> None:
        self.api.hold_watch()

    @rule(count=st.none() | st.integers(1, 3))
    def release_watch(self, count: int | None) -> None:
        self.api.release_watch(count)

    @rule(seconds=st.sampled_from([0.0, 0.5, 3.0]))
    def slow_down(self, seconds: float) -> None:
        self.api.latency = lambda method, path: seconds

    @rule(seconds=st.sampled_from([0.01, 1.0, 5.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        self._pass(seconds)

    @invariant()
    def no_node_is_overfull(self) -> None:
        for name, node in self.api.objects["Node"].items():
            assert self._used(name) <= int(node["status"]["allocatable"]["cpu"])

    @invariant()
    def no_pod_is_bound_twice(self) -> None:
        assert all(count == 1 for count in self.api.bindings.values())

    @invariant()
    def requests_are_bounded(self) -> None:
        seconds = self.loop.time() - self.began
        most = MOST_REQUESTS_PER_POD + MOST_REQUESTS_PER_POD_AND_SECOND * seconds
        assert len(self.api.requests) <= self.num_pods * most

    @invariant()
    def the_scheduler_runs(self) -> None:
        if self.task.done():
            self.task.result()
            raise AssertionError("it has ended")

    def teardown(self) -> None:
        try:
            self._heal_and_look()
        finally:
            self.loop.run_until_complete(self.running.scheduler.abandon())
            self.loop.run_until_complete(self.task)
            self.loop.close()
            asyncio.set_event_loop(None)

    def _heal_and_look(self) -> None:
        self.api.rules.clear()
        self.api.release_watch()
        self.api.latency = lambda method, path: 0.0
        self._pass(MAX_UNSCHEDULABLE_SECONDS + 60.0)
        self.no_node_is_overfull()
        view, queue = self.running.cycle.view, self.running.queue
        waiting = {pod["metadata"]["name"]: pod for pod in self.api.objects["Pod"].values() if not _node_of(pod)}
        assert (view.num_assumed, len(queue)) == (0, len(waiting))
        for name, pod in waiting.items():
            condition = self.api.condition(name)
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
            assert not any(self._free(node) >= _cpu(pod) for node in self.api.objects["Node"])

    def _used(self, node: str) -> int:
        return sum(_cpu(pod) for pod in self.api.objects["Pod"].values() if _node_of(pod) == node)

    def _free(self, node: str) -> int:
        return int(self.api.objects["Node"][node]["status"]["allocatable"]["cpu"]) - self._used(node)


def _node_of(pod: dict[str, Any]) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _cpu(pod: dict[str, Any]) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
