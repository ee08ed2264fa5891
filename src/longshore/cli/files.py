"""Reading and writing what the user names: a file, or `-` for standard input."""

import errno
import gzip
import os
import shutil
import sys
import zlib
from pathlib import Path

from longshore.core.words.errors import InputError

_GZIP = b"\x1f\x8b"


def read_bytes(path: str) -> bytes:
    """Read a file or standard input; what gzip packed is unpacked.

    Raises:
        InputError: it cannot be read; the message says why.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"`{path}` is packed by gzip and cannot be unpacked: {error}", "pack it again") from error
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


def read_objective(text: str | None) -> str | None:
    """Return an objective as it was given, or what is in the YAML file that it names."""
    if text is None or "\n" in text or Path(text).suffix not in (".yaml", ".yml", ".json"):
        return text
    return read_bytes(text).decode(errors="replace").strip()


def check_folder(path: Path, option: str) -> None:
    """Refuse a folder that could not be made or written to, before the work.

    Raises:
        InputError: a part of the path is a file, or may not be written to.
    """
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    reason = errno.ENOTDIR if not there.is_dir() else 0 if os.access(there, os.W_OK) else errno.EACCES
    if reason:
        raise InputError(f"cannot write `{path}`: {os.strerror(reason)}", f"{option}: {_WRITE_HINTS[reason]}")


def check_writable(path: Path | None, option: str) -> None:
    """Refuse what could not be written, before the work and before anything else is written; None is not asked for.

    Raises:
        InputError: it is a folder, or in no folder, or in one that may not be written to.
    """
    try:
        if path is None:
            return
        if path.is_dir():
            reason = errno.EISDIR
        elif path.parent.is_dir():
            if os.access(path if path.exists() else path.parent, os.W_OK):
                return
            reason = errno.EACCES
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
