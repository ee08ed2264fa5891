"""What fills the board: watches of nodes and pods, readings, the decision log, and a scheduler's metrics.

Each runs by itself and says for itself what is wrong; the view shows that in words and keeps what was last seen.
"""

import asyncio
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from longshore.core.words.errors import InputError, LongshoreError
from longshore.dashboard.top.model import Board
from longshore.dashboard.top.scheduler import SchedulerState, parse_metrics
from longshore.kube.cache import Cache
from longshore.kube.client import Client
from longshore.kube.identity import Identity
from longshore.kube.reflector import Reflector, WatchBatch, run_reflectors
from longshore.kube.resources import NODES, PODS
from longshore.store.reader import DecisionReader
from longshore.telemetry.base import Source
from longshore.telemetry.follow import Telemetry

PING_SECONDS = 2.0
PING_TIMEOUT_SECONDS = 4.0
LOG_SECONDS = 1.0
METRICS_SECONDS = 2.0
METRICS_TIMEOUT_SECONDS = 2.0
MAX_METRICS_BYTES = 8 * 1024**2
OVERLAP_US = 5_000_000
"""Rows are read again for so long: the log is written in batches, and outcomes come later than decisions."""


@dataclass
class Sources:
    """What the view is asked to show beside the cluster."""

    store: str | None = None
    """The decision log."""
    metrics_url: str | None = None
    """A scheduler's `/metrics`."""
    readings: Mapping[str, Source] = field(default_factory=dict)
    """By name, the most trusted first."""


@dataclass
class Status:
    """How the sources are."""

    server: str = ""
    has_answered: bool = False
    lost_since: float | None = None
    """When the API server stopped answering; None = it answers."""
    trouble: str = ""
    """Why it does not."""
    is_synced: bool = False
    scheduler: SchedulerState | None = None
    metrics_trouble: str = ""
    log_trouble: str = ""
    readings_trouble: str = ""


class Feed:
    """Keeps a board up to date for as long as `run` runs."""

    def __init__(
        self, identity: Identity, sources: Sources, *, clock: Callable[[], float] = time.time, num_top: int = 1000
    ) -> None:
        """Take who we are at which API server, and what else to show.

        Raises:
            InputError: the address of the metrics is none.
        """
        self.board = Board()
        self.status = Status(server=identity.server)
        self._identity = identity
        self._sources = sources
        self._clock = clock
        self._num_top = num_top
        self._cache = Cache()
        self._since_us = int(clock() * 1e6)
        if sources.metrics_url is not None:
            check_metrics_url(sources.metrics_url)

    async def run(self) -> None:
        """Watch for ever.

        Raises:
            LongshoreError: nodes or pods may not be listed with this identity.
        """
        async with Client(self._identity) as client:
            reflectors = [Reflector(client, resource, self.take) for resource in (NODES, PODS)]
            works = [run_reflectors(reflectors), self._ping(client)]
            if self._sources.readings:
                telemetry = Telemetry(self._sources.readings, self.board.put_readings)
                works += [telemetry.run(PING_SECONDS), self._judge(telemetry)]
            if self._sources.store is not None:
                works.append(self._read_log(self._sources.store))
            if self._sources.metrics_url is not None:
                works.append(self._read_metrics(self._sources.metrics_url))
            tasks = [asyncio.create_task(work) for work in works]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def take(self, batch: WatchBatch) -> None:
        """Take a batch of one resource's events."""
        # Placements are what happens after the first list: a later list only catches up with what was missed.
        is_history = not self._cache.is_synced(batch.resource.kind)
        self.board.apply(self._cache.apply(batch), self._clock(), is_history=is_history)
        self.status.is_synced = self._cache.is_synced(NODES.kind, PODS.kind)

    async def _ping(self, client: Client) -> None:
        """Ask the server for its version again and again: a watch that is lost can look like one that is quiet."""
        while True:
            try:
                await client.request("GET", "/version", timeout_seconds=PING_TIMEOUT_SECONDS)
                self.status.lost_since, self.status.trouble = None, ""
                self.status.has_answered = True
            except LongshoreError as error:
                self.status.lost_since = self.status.lost_since or self._clock()
                self.status.trouble = error.message
            await asyncio.sleep(PING_SECONDS)

    async def _judge(self, telemetry: Telemetry) -> None:
        while True:
            await asyncio.sleep(PING_SECONDS / 2)
            self.status.readings_trouble = telemetry.problem or self._strangers()

    def _strangers(self) -> str:
        number = self.board.num_strangers() if self.status.is_synced else 0
        return f"{number:,} nodes of the readings are not in this cluster" if number else ""

    async def _read_log(self, store: str) -> None:
        reader: DecisionReader | None = None
        while True:
            try:
                if reader is None:
                    reader = await asyncio.to_thread(DecisionReader, store)
                records = await asyncio.to_thread(reader.query, since_us=self._since_us, limit=self._num_top)
                if records:
                    self._since_us = max(self._since_us, records[0].time_us - OVERLAP_US)
                self.board.add_decisions(reversed(records))
                self.status.log_trouble = ""
            except LongshoreError as error:
                reader = None  # it may come into being later
                self.status.log_trouble = error.message
            await asyncio.sleep(LOG_SECONDS)

    async def _read_metrics(self, url: str) -> None:
        while True:
            try:
                self.status.scheduler = parse_metrics(await asyncio.to_thread(_fetch, url))
                self.status.metrics_trouble = ""
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or error
                self.status.metrics_trouble = f"cannot read {url}: {reason}"
            await asyncio.sleep(METRICS_SECONDS)


def check_metrics_url(url: str) -> None:
    """Refuse what is no web address: `urllib` would open files too.

    Raises:
        InputError: it is none.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"got the metrics address `{url}`, expected a URL", "for instance `http://127.0.0.1:10351/metrics`"
        )


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=METRICS_TIMEOUT_SECONDS) as answer:
        data: bytes = answer.read(MAX_METRICS_BYTES)
    return data.decode("utf-8", "replace")
