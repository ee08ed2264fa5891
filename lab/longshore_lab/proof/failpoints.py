"""`longshore` that dies on its way: `LONGSHORE_FAILPOINT=NAME` or `NAME:N` ends it at the N-th pass, by SIGKILL.

`python -m longshore_lab.proof.failpoints schedule …` is `longshore schedule …` with that. Nothing is tidied up, as when
a machine loses power.
"""

import functools
import os
import signal
from typing import Final

from longshore.cli.main import main
from longshore.core.words.errors import InputError
from longshore.scheduling import points, service

VARIABLE: Final = "LONGSHORE_FAILPOINT"
NAMES: Final = (points.AFTER_ASSUME, points.BEFORE_BIND, points.AFTER_BIND, points.DURING_RELIST)


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


if __name__ == "__main__":
    with_failpoint = functools.partial(service.Surroundings, failpoint=from_environment())
    service.Surroundings = with_failpoint  # type: ignore[assignment,misc]
    main()
