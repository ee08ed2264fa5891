"""A scheduler at work on an API server in memory (`fake_api`)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from longshore.core.arrays.live import LiveCluster
from longshore.deciding.assume import ClusterView
from longshore.deciding.cycle import Cycle
from longshore.deciding.decider import Decider
from longshore.deciding.find import find_policy
from longshore.filters import static_parts
from longshore.kube.cache import Cache
from longshore.kube.reflector import WatchBatch
from longshore.kube.writes import Reporter
from longshore.policies.base import Policy
from longshore.scheduling.loop import Parts, Scheduler
from longshore.scheduling.metrics import SchedulerMetrics
from longshore.scheduling.queue import SchedulingQueue
from support.fake_api import FakeApi

if TYPE_CHECKING:
    from longshore.kube.client import Client


class Running:
    """A scheduler and the API server that it works on."""

    def __init__(
        self,
        api: FakeApi,
        policy: str = "kube-default",
        own: Policy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.api, cache, client = api, Cache(), cast("Client", api)
        chosen = find_policy(policy) if own is None else replace(own, name="mine")
        view = ClusterView(LiveCluster(static_parts()))
        self.cycle = Cycle(Decider(chosen), view, budgets=cache.disruption_budgets)
        self.queue = SchedulingQueue(clock)
        self.scheduler = Scheduler(
            Parts(
                client=client,
                cache=cache,
                cycle=self.cycle,
                queue=self.queue,
                scheduler_name="longshore",
                reporter=Reporter("longshore", "longshore-test"),
                metrics=SchedulerMetrics(),
                clock=clock,
            )
        )

        def collect(batch: WatchBatch) -> None:
            cache.apply(batch)

        def deliver(batch: WatchBatch) -> None:
            self.scheduler.intake.apply(cache.apply(batch))
            self.scheduler.wake()

        api.start(collect)
        self.scheduler.intake.start()
        api.deliver = deliver


@asynccontextmanager
async def scheduling(api: FakeApi, **options: Any) -> AsyncIterator[Running]:
    """Run a scheduler for the block; at its end everything under way comes to its end."""
    running = Running(api, **options)
    task = asyncio.create_task(running.scheduler.run())
    try:
        yield running
        running.scheduler.stop()
        await task
        await running.scheduler.finish()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something, in the time of the event loop."""
    now = asyncio.get_running_loop().time
    ends = now() + seconds
    while not condition():
        assert now() < ends, "it did not happen"
        await asyncio.sleep(0.005)
