"""What every workload is, and the two rules that all keep: parameters are checked, times are whole milliseconds."""

import math
from collections.abc import Iterable
from typing import Protocol

from longshore.core.words.errors import InputError
from longshore.core.words.trace import Event, Trace


class Workload(Protocol):
    """A frozen dataclass whose fields are its parameters."""

    def trace(self, seed: int) -> Trace:
        """Make the trace of this seed: the same seed gives the same trace, to the last bit."""
        ...


def seconds(value: float) -> float:
    """Round to a whole millisecond, so that every simulator adds up the same numbers."""
    return round(value, 3)


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Sort by time; events of one moment keep their order."""
    return tuple(sorted(events, key=lambda event: event.time))


_MOST = {"nodes": 100_000, "pods": 10_000_000}
"""Beyond these a trace would not fit into memory."""


def check_range(workload: object, field: str, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """Refuse a parameter that is not from `low` to `high`; with `above`, `low` itself is refused too.

    Raises:
        InputError: the message names the workload, the parameter, its value and what was expected.
    """
    value = getattr(workload, field)
    if field in _MOST:
        high = min(high, _MOST[field])
    if (low < value if above else low <= value) and value <= high and value < math.inf:
        return
    least = f"more than {low:g}" if above else f"{low:g} or more"
    expected = least if high == math.inf else f"{least}, at most {high:g}"
    name = type(workload).__name__
    raise InputError(f"workload `{name}`: got {field} `{value}`, expected {expected}", f"set `{field}` to {expected}")
