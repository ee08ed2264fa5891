"""Reading what the user names: a file, or `-` for standard input."""

import sys
from pathlib import Path

from longshore.core.errors import InputError


def read_bytes(path: str) -> bytes:
    """Read a file or standard input.

    Raises:
        InputError: it cannot be read; the message says why.
    """
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read `{path}`: {error.strerror}", "give a file that exists, or `-` for standard input"
        ) from error
