"""Follow a source: ask it again and again, hand on what changed, and say when it goes wrong or gets old."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import DEFAULT_MAX_AGE_SECONDS, Source, SourceReadings

LOGGER = logging.getLogger(__name__)

DEFAULT_INTERVAL_SECONDS = 2.0

Deliver = Callable[[Mapping[str, NodeReadings]], None]
"""Takes the nodes whose readings changed; `arrays.live.LiveCluster.put_readings` is one."""


class Follower:
    """Keeps a cluster's readings as a source has them."""

    def __init__(
        self,
        name: str,
        source: Source,
        deliver: Deliver,
        *,
        max_age_seconds: float = DEFAULT_MAX_AGE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the source by its name, and who is told about changes."""
        self.name = name
        self._source = source
        self._deliver = deliver
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._batch = SourceReadings()
        self._delivered: dict[str, NodeReadings] = {}
        self._problem: str | None = None

    @property
    def problem(self) -> str | None:
        """What is wrong with the source or with the age of its readings; None = nothing."""
        return self._problem

    def age_seconds(self) -> float | None:
        """Return the age of the newest reading; None = there is none yet."""
        return self._batch.age_seconds(self._clock())

    async def step(self) -> None:
        """Ask once, and hand on what changed: new values, values that got too old, nodes that are gone."""
        self._batch = await self._source.read()
        known = self._batch.known(self._clock(), self._max_age_seconds)
        changed = {name: one for name, one in known.items() if self._delivered.get(name) != one}
        changed |= {name: NodeReadings() for name in self._delivered if name not in known}
        self._delivered = known
        self._say(self._batch.problem or self._stale(known))
        if changed:
            self._deliver(changed)

    async def run(self, interval_seconds: float = DEFAULT_INTERVAL_SECONDS) -> None:
        """Ask for ever; ends only by being cancelled."""
        while True:
            await self.step()
            await asyncio.sleep(interval_seconds)

    def _stale(self, known: Mapping[str, NodeReadings]) -> str | None:
        num_stale = sum(self._batch.nodes[name].readings != one for name, one in known.items())
        if not num_stale:
            return None
        return f"the readings of {num_stale} of {len(known)} nodes are older than {self._max_age_seconds:g} s"

    def _say(self, problem: str | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is None:
            LOGGER.info("telemetry: well again source=%s", self.name)
        else:
            LOGGER.warning("telemetry: source=%s problem=%r", self.name, problem)
