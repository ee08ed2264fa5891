"""An event loop whose clock jumps: nothing waits in earnest, and five minutes of a scheduler's life pass in a moment.

Whoever reads another clock (`time.monotonic`) does not notice. Code under test takes `loop.time`.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Value = TypeVar("Value")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs what is ready, and then goes straight to the next moment at which something is due."""

    def __init__(self) -> None:
        self._virtual = 1000.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        """Return the virtual seconds."""
        return self._virtual

    def jump(self, seconds: float) -> None:
        """Let time pass."""
        self._virtual += seconds


class _Jump(selectors.SelectSelector):
    """Passes the time that it is asked to wait for without waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing is ready and nothing is due: everybody waits for ever")
        if timeout > 0:
            self._loop.jump(timeout)
        return super().select(0)


def run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run something in virtual time, as `asyncio.run` does in real time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
