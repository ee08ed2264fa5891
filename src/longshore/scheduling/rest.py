"""A share of the time for work that others must not wait for: after every piece of it there is a rest."""

import time
from collections.abc import Callable
from types import TracebackType


class Rest:
    """Measures pieces of work, and says how long to do something else afterwards."""

    def __init__(self, share: float, clock: Callable[[], float] = time.perf_counter) -> None:
        """Allow work up to a share of the time, above 0 and at most 1."""
        self._share, self._clock = share, clock
        self._began = self._ends = 0.0

    def seconds(self) -> float:
        """Say how long the rest still is; 0 = there may be work."""
        return max(0.0, self._ends - self._clock())

    def __enter__(self) -> None:
        """Begin a piece of work."""
        self._began = self._clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        now = self._clock()
        self._ends = now + (now - self._began) * (1 / self._share - 1)
