"""SIGTERM taken for Ctrl-C: a command that started processes of its own takes them down before it ends."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
