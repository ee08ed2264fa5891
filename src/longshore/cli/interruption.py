"""Commands that are told to end, by Ctrl-C or SIGTERM, do so in order."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


@asynccontextmanager
async def stop_event() -> "AsyncIterator[asyncio.Event]":
    """Give an event that Ctrl-C and SIGTERM set while the block runs."""
    import asyncio

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextmanager
def in_order() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt while the block runs, so that its `finally` clauses do; a second one waits.

    Without it a process that is told to end by `kill` or `timeout` ends at once, and leaves what it started.
    """

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
