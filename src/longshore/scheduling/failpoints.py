"""Where tests kill the scheduler: `LONGSHORE_FAILPOINT=NAME` or `NAME:N` ends the process at the N-th pass, by SIGKILL.

For tests of recovery only: nothing is tidied up, as when a machine loses power. Without the variable it costs one
comparison.
"""

import os
import signal
from typing import Final

from longshore.core.words.errors import InputError

VARIABLE: Final = "LONGSHORE_FAILPOINT"
AFTER_ASSUME: Final = "after-assume"
BEFORE_BIND: Final = "before-bind"
AFTER_BIND: Final = "after-bind"
DURING_RELIST: Final = "during-relist"
NAMES: Final = (AFTER_ASSUME, BEFORE_BIND, AFTER_BIND, DURING_RELIST)


class Failpoint:
    """Counts down to the end."""

    def __init__(self, text: str = "") -> None:
        """Read `name` or `name:count`; empty = never.

        Raises:
            InputError: no such point, or no count.
        """
        self.name, _, count = text.partition(":")
        if text and (self.name not in NAMES or (count and not (count.isascii() and count.isdigit()))):
            raise InputError(
                f"got `{text}` in {VARIABLE}, expected one of {', '.join(NAMES)}, with `:N` for the N-th pass",
                "it ends the process and is meant for tests; unset it",
            )
        self.passes_left = int(count or 1)

    def __call__(self, name: str) -> None:
        """Pass a point."""
        if name != self.name:
            return
        self.passes_left -= 1
        if self.passes_left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def from_environment() -> Failpoint:
    """Return the failpoint that the environment asks for."""
    return Failpoint(os.environ.get(VARIABLE, ""))
