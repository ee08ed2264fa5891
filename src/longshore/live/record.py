"""Record a live cluster: watch it until told to stop, and return what happened as a trace."""

import asyncio
import time
from collections.abc import Callable, Mapping

from longshore.kube.client import Client
from longshore.kube.reflector import Reflector, WatchBatch, run_reflectors
from longshore.live.recording import WATCHED, Recorder, Recording, Scope
from longshore.telemetry.base import Source
from longshore.telemetry.follow import Telemetry

_SHOW_SECONDS = 0.5


async def record(
    client: Client,
    scope: Scope,
    stop: asyncio.Event,
    *,
    seconds: float | None = None,
    readings: Mapping[str, Source] | None = None,
    show: Callable[[Recorder, float], None] = lambda _recorder, _time: None,
) -> Recording:
    """Record until `stop` is set or the time is up; time 0 is when all first lists are in.

    Raises:
        ApiError: the cluster cannot be read.
    """
    await client.request("GET", "/version")  # who cannot be reached is said at once: a watch would try for ever
    recorder, synced = Recorder(scope), asyncio.Event()
    started = time.monotonic()

    def deliver(batch: WatchBatch) -> None:
        recorder.take(batch, time.monotonic() - started)
        if recorder.is_synced():
            synced.set()

    tasks = [asyncio.create_task(run_reflectors([Reflector(client, each, deliver) for each in WATCHED]))]
    stopped = asyncio.create_task(stop.wait())
    try:
        first = asyncio.create_task(synced.wait())
        await asyncio.wait({first, stopped, tasks[0]}, return_when=asyncio.FIRST_COMPLETED)
        first.cancel()
        _raise_failures(tasks)
        started = time.monotonic()
        recorder.start()
        if readings:
            telemetry = Telemetry(readings, lambda found: recorder.put_readings(found, time.monotonic() - started))
            tasks.append(asyncio.create_task(telemetry.run(_SHOW_SECONDS)))
        while not stopped.done():
            passed = time.monotonic() - started
            show(recorder, passed)
            if seconds is not None and passed >= seconds:
                break
            left = _SHOW_SECONDS if seconds is None else min(_SHOW_SECONDS, seconds - passed)
            await asyncio.wait({stopped, *tasks}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            _raise_failures(tasks)
        return recorder.finish(time.monotonic() - started)
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.gather(stopped, *tasks, return_exceptions=True)


def _raise_failures(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()
