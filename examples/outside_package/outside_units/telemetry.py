"""Latencies that somebody wrote down: `node-1=12.5,node-2=3`."""

import time

from longshore.core.words.node import NodeReadings
from longshore.telemetry.base import SourceReadings, TimedReadings


class FixedLatency:
    """Tells the same latencies for ever."""

    def __init__(self, argument):
        """Take what stands behind the source's name."""
        self._argument = argument

    async def read(self):
        """Return the readings as of now; what is wrong with the argument is told, not raised."""
        try:
            pairs = dict(pair.split("=") for pair in self._argument.split(","))
            readings = {name: NodeReadings(latency_ms=float(number)) for name, number in pairs.items()}
        except ValueError as error:
            return SourceReadings(problem=f"got `{self._argument}`, expected `node=ms,node=ms`: {error}")
        return SourceReadings({name: TimedReadings(one, time.time()) for name, one in readings.items()})
