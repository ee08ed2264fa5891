"""Ctrl-C in training: the first lets the chunk end, so that a checkpoint can be written; the second ends at once.

A compiled chunk runs for seconds in which Python's own handlers wait. So the signal is read by a thread, from the pipe
that Python writes to the moment it comes.
"""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

INTERRUPTED_EXIT_CODE = 130


class Stopper:
    """A context in which Ctrl-C is a request. Off the main thread, where signals cannot be had, it does nothing."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """Call `tell` once, from another thread, when the first request comes."""
        self._tell = tell
        self._asked = threading.Event()
        self._is_main = threading.current_thread() is threading.main_thread()

    @property
    def is_asked(self) -> bool:
        """Say whether training should end after this chunk."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Ask for the end, as the first Ctrl-C does."""
        if not self._asked.is_set():
            self._asked.set()
            self._tell()

    def __enter__(self) -> "Stopper":
        if self._is_main:
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._old_handler: Any = signal.signal(signal.SIGINT, _ignore)
            self._old_pipe = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            self._thread = threading.Thread(target=self._listen, name="longshore-stopper", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_main:
            signal.set_wakeup_fd(self._old_pipe)
            signal.signal(signal.SIGINT, self._old_handler)
            os.close(self._writer)  # the thread reads the end, and goes
            self._thread.join()
            os.close(self._reader)

    def _listen(self) -> None:
        while numbers := os.read(self._reader, 1):
            if numbers[0] != signal.SIGINT:
                continue
            if self.is_asked:
                os._exit(INTERRUPTED_EXIT_CODE)
            self.ask()


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Stand where Python would raise KeyboardInterrupt: the thread has heard it already."""
