"""A cache that follows `kube_server`, and the comparison with a cache that has just been filled from a list."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from longshore.kube import wire
from longshore.kube.cache import Cache
from longshore.kube.client import Client
from longshore.kube.identity import Identity
from longshore.kube.reflector import Event, Reflector, Stage, WatchBatch
from longshore.kube.resources import PODS
from support.kube_server import ApiServer, until


class Follower:
    """A cache fed by a reflector that does not really wait when it backs off."""

    def __init__(self, server: ApiServer, client: Client, **options: Any) -> None:
        self.server = server
        self.cache = Cache()
        self.batches: list[WatchBatch] = []
        self.waits: list[float] = []
        settings = {"rng": random.Random(1), "sleep": self._sleep, "page_size": 2} | options
        self.reflector = Reflector(client, PODS, self._deliver, **settings)

    def _deliver(self, batch: WatchBatch) -> None:
        self.batches.append(batch)
        self.cache.apply(batch)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0.001)

    @property
    def num_lists(self) -> int:
        """How many lists have been taken over whole."""
        return sum(batch.stage is Stage.LIST_ENDS for batch in self.batches)

    async def catches_up(self) -> None:
        """Wait until the cache equals a fresh list."""
        await until(
            lambda: self.cache.is_synced("Pod") and self.cache.snapshot() == fresh(self.server).snapshot(),
            "that the cache equals a fresh list",
        )


def fresh(server: ApiServer) -> Cache:
    """Fill a cache from what the server holds now."""
    cache = Cache()
    cache.apply(WatchBatch(PODS, Stage.LIST_BEGINS))
    items = [msgspec.convert(thing, wire.Pod) for thing in server.objects.values()]
    cache.apply(WatchBatch(PODS, Stage.LIST, [Event("ADDED", item) for item in items]))
    cache.apply(WatchBatch(PODS, Stage.LIST_ENDS, resource_version=str(server.version)))
    return cache


@contextlib.asynccontextmanager
async def following(server: ApiServer, **options: Any) -> AsyncIterator[Follower]:
    """Follow a server for the length of a test."""
    async with Client(Identity(server.url)) as client:
        follower = Follower(server, client, **options)
        task = asyncio.create_task(follower.reflector.run())
        try:
            yield follower
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
