"""A wall clock that jumps, for one process: libfaketime between it and the kernel. Its monotonic clock stays right."""

from pathlib import Path
from typing import TYPE_CHECKING

from longshore.core.words.errors import ComponentMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIBRARIES = Path("/usr/lib")


class WallClock:
    """The wall clock of every process that is started with its environment."""

    def __init__(self, path: Path) -> None:
        """Take the file by which the clock is moved.

        Raises:
            ComponentMissingError: libfaketime is not there.
        """
        library = next(iter(_LIBRARIES.glob("*/faketime/libfaketime.so.1")), None)
        if library is None:
            raise ComponentMissingError("libfaketime", "make packages")
        self._path = path
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Move the clock to so much beside the right time."""
        fresh = self._path.with_suffix(".part")
        fresh.write_text(f"{seconds:+d}", encoding="ascii")
        fresh.replace(self._path)
