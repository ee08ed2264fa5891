"""Reading and writing what the user names: a file, or `-` for standard input."""

import errno
import os
import shutil
import sys
from pathlib import Path

from longshore.core.words.errors import InputError


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


_WRITE_HINTS = {
    errno.ENOENT: "make its folder first, or give one that exists",
    errno.ENOTDIR: "a part of the path is a file; give a folder that exists",
    errno.EISDIR: "it is a folder; add the name of a file",
    errno.EACCES: "give a folder that you may write to",
    errno.EPERM: "give a folder that you may write to",
    errno.EROFS: "give a folder that you may write to",
    errno.ENOSPC: "free some space, or give a folder on another disk",
    errno.ENAMETOOLONG: "give a shorter name",
}


def check_writable(path: Path, option: str) -> None:
    """Refuse what could not be written, before the work and before anything else is written.

    Raises:
        InputError: it is a folder, or in no folder.
    """
    try:
        if path.is_dir():
            reason = errno.EISDIR
        elif path.parent.is_dir():
            return
        else:
            reason = errno.ENOTDIR if path.parent.exists() else errno.ENOENT
    except OSError as error:  # a name that no file system takes
        reason = error.errno or 0
    hint = _WRITE_HINTS.get(reason, "give another path")
    raise InputError(f"cannot write `{path}`: {os.strerror(reason)}", f"{option}: {hint}")


def write_bytes(path: Path, data: bytes, option: str) -> None:
    """Write a file whole or not at all: what was there stays until all of the new is on the disk.

    Args:
        path: where to; what is no ordinary file, such as `/dev/stdout`, is written to directly.
        data: the new content.
        option: what hints call the path, such as `--out`.

    Raises:
        InputError: it cannot be written; the message says why.
    """
    try:
        target = path.resolve()  # a link stays a link
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        hint = _WRITE_HINTS.get(error.errno or 0, "give another path")
        raise InputError(f"cannot write `{path}`: {error.strerror}", f"{option}: {hint}") from error


def _replace(target: Path, data: bytes) -> None:
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
