"""Commands that are told to end, by Ctrl-C or SIGTERM, do so in order."""

import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


@asynccontextmanager
async def stop_event() -> "AsyncIterator[asyncio.Event]":
    """Give an event that Ctrl-C and SIGTERM set while the block runs; then they do again what they did before."""
    import asyncio

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)  # the loop leaves the default behind


@contextmanager
def in_order() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt while the block runs, so that its `finally` clauses do; a second one waits.

    Without it a process that is told to end by `kill` or `timeout` ends at once, and leaves what it started. Outside of
    the main thread nothing changes: signals are not its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
