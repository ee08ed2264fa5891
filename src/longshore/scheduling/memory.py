"""What a process that runs for weeks asks of the C library's memory."""

import asyncio
import ctypes
import sys
from collections.abc import Callable

EVERY_SECONDS = 30.0


def find_trim() -> Callable[[], object] | None:
    """Return what gives free pages back to the system; None = this C library gives them back by itself, or cannot.

    Tables of the cluster are made anew with every node that comes or goes. They lie in the heap between small objects
    that stay, and the holes that they leave are soon too small for the next ones: glibc's heap grows for hours.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    return None if trim is None else lambda: trim(0)


async def keep_trimmed(seconds: float = EVERY_SECONDS) -> None:
    """Give free pages back again and again; it takes some milliseconds, in a thread of its own."""
    trim = find_trim()
    while trim is not None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(trim)
