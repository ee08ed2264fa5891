"""Carbon: minus the grams of CO2 per hour that the cluster's power causes, after the placement.

    reward = - Σ_n watts_n / 1000 · grams per kWh of n

Watts are those of the objective `watts`; the grams are the node's own (`carbon_grams_per_kwh`). A `series` makes the
grid change with time: points (seconds, value), each of which holds until the next one; before the first point the
first holds. Its values are grams per kWh that replace the nodes' own (`absolute`) or factors on them (`relative`).

The arrays know how many pods were placed but not the time, so time = placements · `step_seconds`: the mean time
between two arrivals. With `period_seconds` the series repeats, for instance every 86400 seconds.
"""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import node_watts
from longshore.core.words.errors import InputError
from longshore.core.words.node import CARBON, POWER
from longshore.objectives.base import Transition, never_ends


@dataclass(frozen=True)
class Carbon:
    """Reward for drawing power where and when it is clean."""

    rests_on: ClassVar[tuple[str, ...]] = (POWER, CARBON)

    switch_off_idle: bool = False
    """Nodes that no pod keeps on draw nothing. Off by default: few clusters switch their nodes off."""
    series: tuple[tuple[float, float], ...] = ()
    """Grid intensity over time: (seconds, value), in order of time. None = the nodes' own figures, always."""
    series_kind: Literal["absolute", "relative"] = "absolute"
    """What the values are: grams per kWh, or factors on the nodes' own."""
    step_seconds: float = 1.0
    """Seconds that pass with each placement."""
    period_seconds: float | None = None
    """Seconds after which the series starts again; None = its last value holds for ever."""

    def __post_init__(self) -> None:
        _check(self)

    def reward(self, step: Transition) -> Array:
        """Return minus the cluster's grams per hour."""
        own = step.after.nodes.carbon_grams_per_kwh
        grams = self._grams(step, own) if self.series else own
        return -(node_watts(step.after, self.switch_off_idle) / 1000 * grams).sum()

    def ends_episode(self, step: Transition) -> Array:
        """End nothing."""
        return never_ends(step)

    def _grams(self, step: Transition, own: Array) -> Array:
        xp = namespace(own)
        seconds = step.after.state.step * xp.float64(self.step_seconds)
        if self.period_seconds is not None:
            seconds = seconds % self.period_seconds
        times = xp.asarray([time for time, _ in self.series], dtype=xp.float64)
        values = xp.asarray([value for _, value in self.series], dtype=xp.float64)
        now = values[xp.maximum((times <= seconds).sum() - 1, 0)]
        return own * now if self.series_kind == "relative" else xp.where(step.after.nodes.is_real, now, 0.0)


def _check(carbon: Carbon) -> None:
    times = [time for time, _ in carbon.series]
    if any(later <= earlier for earlier, later in itertools.pairwise(times)):
        raise InputError(
            f"objective `carbon`: got a series with times {times}, expected each to be later than the one before",
            "sort the points by time and keep one value for each",
        )
    if not all(math.isfinite(time) and math.isfinite(value) and value >= 0 for time, value in carbon.series):
        raise InputError(
            f"objective `carbon`: got the series {list(carbon.series)}, expected finite times and values of 0 or more",
            "a point is [seconds, grams per kWh], or [seconds, factor] with `series_kind: relative`",
        )
    if not 0 < carbon.step_seconds < math.inf:
        raise InputError(
            f"objective `carbon`: got step_seconds `{carbon.step_seconds}`, expected more than 0",
            "give the mean number of seconds between two arrivals",
        )
    if carbon.period_seconds is not None and not 0 < carbon.period_seconds < math.inf:
        raise InputError(
            f"objective `carbon`: got period_seconds `{carbon.period_seconds}`, expected more than 0 or none",
            "86400 repeats the series every day",
        )
