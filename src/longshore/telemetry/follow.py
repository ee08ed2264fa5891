"""Follow sources: ask them again and again, hand on what changed, and say when one goes wrong or gets old.

Of several sources that know the same quantity of the same node, the one that was named first counts; where it knows
nothing, or nothing new enough, the next one does. The freshest of them would not do: two meters differ, and a node's
value would jump between them at every poll.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import MAX_AGE_SECONDS, Source, SourceReadings

LOGGER = logging.getLogger(__name__)

DEFAULT_INTERVAL_SECONDS = 2.0

Deliver = Callable[[Mapping[str, NodeReadings]], None]
"""Takes the nodes whose readings changed; `arrays.live.LiveCluster.put_readings` is one."""
Clock = Callable[[], float]
"""Gives the seconds since 1970."""


class Telemetry:
    """Keeps a cluster's readings as several sources have them."""

    def __init__(self, sources: Mapping[str, Source], deliver: Deliver, clock: Clock = time.time) -> None:
        """Take the sources by their names, the most trusted first, and who is told about changes."""
        self._deliver = deliver
        self.followers = tuple(Follower(name, source, self._take, clock) for name, source in sources.items())

    @property
    def problem(self) -> str | None:
        """What is wrong with the sources; None = nothing."""
        return "; ".join(one.problem for one in self.followers if one.problem is not None) or None

    async def run(self, interval_seconds: float = DEFAULT_INTERVAL_SECONDS) -> None:
        """Ask for ever, each source by itself, so that one that hangs holds up no other."""
        await asyncio.gather(*(follower.run(interval_seconds) for follower in self.followers))

    def _take(self, changed: Mapping[str, NodeReadings]) -> None:
        known = [follower.known for follower in self.followers]
        self._deliver({node: merge([one[node] for one in known if node in one]) for node in changed})


def merge(measured: Sequence[NodeReadings]) -> NodeReadings:
    """Return of every quantity the first value that is known."""
    columns = zip(*measured, NodeReadings(), strict=True)
    return NodeReadings(*(next((one for one in column if one not in (None, ())), column[-1]) for column in columns))


class Follower:
    """Keeps a cluster's readings as a source has them."""

    def __init__(self, name: str, source: Source, deliver: Deliver, clock: Clock = time.time) -> None:
        """Take the source by its name, and who is told about changes."""
        self.name = name
        self._source = source
        self._deliver = deliver
        self._clock = clock
        self._batch = SourceReadings()
        self.known: dict[str, NodeReadings] = {}
        """Every node's readings, as they were handed on last."""
        self._problem: str | None = None
        self.num_failures = 0
        """How often the source could not be read, and why was new."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the source or with the age of its readings; None = nothing."""
        return self._problem

    def age_seconds(self) -> float | None:
        """Return the age of the newest reading; None = there is none yet."""
        return self._batch.age_seconds(self._clock(), MAX_AGE_SECONDS)

    def num_stale(self) -> int:
        """Say of how many nodes the reading does not count, as its time is too far from now."""
        batch = self._batch.nodes.values()
        now = self._clock()
        return sum(abs(now - timed.time_seconds) > MAX_AGE_SECONDS for timed in batch)

    async def step(self) -> None:
        """Ask once, and hand on what changed: new values, values that got too old, nodes that are gone."""
        failed, self._batch = self._batch.problem, await self._read()
        self.num_failures += self._batch.problem not in (None, failed)
        known = self._batch.known(self._clock(), MAX_AGE_SECONDS)
        changed = {name: one for name, one in known.items() if self.known.get(name) != one}
        changed |= {name: NodeReadings() for name in self.known if name not in known}
        self.known = known
        self._say(self._batch.problem or self._stale(known))
        if changed:
            self._deliver(changed)

    async def run(self, interval_seconds: float = DEFAULT_INTERVAL_SECONDS) -> None:
        """Ask for ever; ends only by being cancelled."""
        while True:
            await self.step()
            await asyncio.sleep(interval_seconds)

    async def _read(self) -> SourceReadings:
        try:
            return await self._source.read()
        except Exception as error:  # noqa: BLE001 - a package's own source must not end who places pods
            return SourceReadings(self._batch.nodes, f"the source failed: {type(error).__name__}: {error}")

    def _stale(self, known: Mapping[str, NodeReadings]) -> str | None:
        num_stale = self.num_stale()
        if not num_stale:
            return None
        return f"the readings of {num_stale} of {len(known)} nodes are older than {MAX_AGE_SECONDS:g} s"

    def _say(self, problem: str | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is None:
            LOGGER.info("telemetry: well again source=%s", self.name)
        else:
            LOGGER.warning("telemetry: source=%s problem=%r", self.name, problem)
