"""Our scheduler inside this process, with kube-default and without a lease, for as long as a block runs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from longshore.deciding.find import find_live_policy
from longshore.kube.client import Client
from longshore.scheduling.metrics import SchedulerMetrics
from longshore.scheduling.service import Service, Settings, Surroundings


@contextlib.asynccontextmanager
async def running_scheduler(client: Client, name: str = "longshore") -> AsyncIterator[Service]:
    """Run it, and end it in order."""
    stop, leads = asyncio.Event(), asyncio.Event()
    settings = Settings(scheduler_name=name, elects_leader=False, identity="proof")
    around = Surroundings(SchedulerMetrics(), lambda said: leads.set() if "scheduling pods" in said else None, stop)
    service = Service(client, find_live_policy("kube-default"), settings, around)
    task, waiting = asyncio.create_task(service.run()), asyncio.create_task(leads.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield service
        stop.set()
        await task
    finally:
        task.cancel()
        waiting.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
