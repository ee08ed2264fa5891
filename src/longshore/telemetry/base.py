"""What every telemetry source yields: readings per node, each with its time, and what is wrong, if anything.

Pure. A source says when something was measured; whether that is too old is decided here, by one rule for all sources:
a reading that is older than the limit is not known any more. Policies treat unknown as unknown; nobody guesses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from longshore.core.words.node import NodeReadings

MAX_AGE_SECONDS = 60.0


class TimedReadings(NamedTuple):
    """What was measured on a node, and when (seconds since 1970)."""

    readings: NodeReadings
    time_seconds: float


@dataclass(frozen=True)
class SourceReadings:
    """All that a source knows at one moment."""

    nodes: Mapping[str, TimedReadings] = field(default_factory=dict)
    problem: str | None = None
    """Why these are not the newest, in a sentence; None = all is well."""

    def age_seconds(self, now_seconds: float, max_age_seconds: float) -> float | None:
        """Return the age of the newest reading; None = there is none.

        One that is far ahead of our clock is not known, and says nothing about the others.
        """
        ages = [now_seconds - timed.time_seconds for timed in self.nodes.values()]
        believed = [age for age in ages if age >= -max_age_seconds]
        return max(0.0, min(believed)) if believed else None

    def known(self, now_seconds: float, max_age_seconds: float) -> dict[str, NodeReadings]:
        """Return every node's readings; those that are too old, or as far ahead of our clock, are not known."""
        return {
            name: timed.readings if abs(now_seconds - timed.time_seconds) <= max_age_seconds else NodeReadings()
            for name, timed in self.nodes.items()
        }


class Source(Protocol):
    """Something that measures, or reads what was measured."""

    async def read(self) -> SourceReadings:
        """Return what is known now. Never raises for trouble outside: that is the batch's `problem`."""
        ...
