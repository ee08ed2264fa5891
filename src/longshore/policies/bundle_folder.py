"""Bundles on disk: a folder with a policy's files, read within limits and written whole or not at all."""

import ctypes
import glob
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from longshore.core.network.bundle import Bundle
from longshore.core.network.bundle_files import (
    CARD_FILE,
    MAX_POLICY_BYTES,
    POLICY_FILE,
    WEIGHTS_FILE,
    read_bundle,
    write_bundle,
)
from longshore.core.network.weights import MAX_BYTES
from longshore.core.words.errors import InputError, LongshoreError

SHIPPED = Path(__file__).parents[1] / "bundles"
"""The bundles that come with longshore, each known by the name of its folder."""
_LIMITS = {POLICY_FILE: MAX_POLICY_BYTES, WEIGHTS_FILE: MAX_BYTES}
_ALL_LIMITS = _LIMITS | {CARD_FILE: MAX_POLICY_BYTES}
_AT_WORKING_FOLDER, _RENAME_EXCHANGE = -100, 2
"""Linux's AT_FDCWD and RENAME_EXCHANGE."""


def is_bundle(folder: Path) -> bool:
    """Tell whether a folder looks like a bundle; `read_folder` says whether it is a good one."""
    return (folder / POLICY_FILE).is_file()


def shipped_names() -> tuple[str, ...]:
    """Return the names of the bundles that come with longshore."""
    return tuple(path.name for path in sorted(SHIPPED.iterdir()) if is_bundle(path))


def locate(folder: Path) -> Path:
    """Return the folder that is meant: this one or, where there is none, the bundle of that name that is shipped."""
    return folder if folder.exists() or str(folder) not in shipped_names() else SHIPPED / folder


def read_folder(folder: Path) -> Bundle:
    """Read a bundle from its folder, or by the name of one that comes with longshore.

    Raises:
        InputError: it is not there, or is refused; the message names the folder.
    """
    folder = locate(folder)
    _check_folder(folder)
    try:
        return read_bundle(_read_all(folder, _LIMITS))
    except InputError as error:
        raise InputError(f"bundle `{folder}`: {error.message}", error.hint) from error


def read_files(folder: Path) -> dict[str, bytes]:
    """Read a bundle's files as they are, the model card with them where there is one.

    Raises:
        InputError: the bundle is not there, or is refused; the message names the folder.
    """
    folder = locate(folder)
    _check_folder(folder)
    try:
        files = _read_all(folder, _ALL_LIMITS)
        read_bundle(files)
    except InputError as error:
        raise InputError(f"bundle `{folder}`: {error.message}", error.hint) from error
    return files


def write_folder(folder: Path, bundle: Bundle) -> None:
    """Write a bundle; one that was there before is replaced, anything else is left alone.

    Raises:
        InputError: the policy is refused, or the folder holds something else.
        LongshoreError: it cannot be written.
    """
    write_files(folder, write_bundle(bundle))


def write_files(folder: Path, files: Mapping[str, bytes], others: frozenset[str] = frozenset()) -> None:
    """Write a bundle's files, whole or not at all, as `write_folder` does.

    Args:
        folder: where to; a bundle that was there before is replaced.
        files: what is written, by name.
        others: names of files beside a bundle's that are replaced with it.

    Raises:
        InputError: the folder holds something else.
        LongshoreError: it cannot be written.
    """
    known = {*_ALL_LIMITS, *files, *others}
    target = folder.resolve()
    try:
        is_taken = target.exists() and not (target.is_dir() and {path.name for path in target.iterdir()} <= known)
    except OSError as error:  # such as a name that is too long
        raise InputError(f"cannot use the folder `{folder}`: {error.strerror}", "give another one") from error
    if is_taken:
        raise InputError(
            f"`{folder}` exists and holds more than a bundle", "give a new folder, or remove that one first"
        )
    fresh = target.with_name(f".{target.name}.{os.getpid()}.part")
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir()
        for name, data in files.items():
            _write(fresh / name, data)
        if not (target.exists() and _exchange(fresh, target)):
            _replace(fresh, target, old)
    except OSError as error:
        raise LongshoreError(
            f"cannot write the bundle `{folder}`: {error.strerror}", "give a folder that you may write to"
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def find_bundles(folder: Path) -> list[Path]:
    """Return the bundles in a folder and below it, sorted; hidden folders are passed over."""
    if not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`", "name a folder that holds bundles")
    found: list[Path] = []
    for path, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if is_bundle(Path(path)):
            found.append(Path(path))
            folders.clear()
    return sorted(found)


def _exchange(fresh: Path, target: Path) -> bool:
    """Let two folders change places in one step, so that a kill leaves one of them there; False = not possible here."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2  # Python has no function for it
    except (AttributeError, OSError, TypeError):  # not Linux, or a C library without it
        return False
    places = (_AT_WORKING_FOLDER, os.fsencode(fresh), _AT_WORKING_FOLDER, os.fsencode(target))
    return bool(exchange(*places, _RENAME_EXCHANGE) == 0)  # some file systems, such as NFS, refuse


def _replace(fresh: Path, target: Path, old: Path) -> None:
    """Put a folder in the place of another one, in two steps; who is killed in between leaves the old one as `old`."""
    if target.exists():
        target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise


def _check_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    what = "is a file" if folder.exists() else "does not exist"
    hint = "a bundle is a folder; name that"
    target = folder.resolve()
    left = [path for path in target.parent.glob(f".{glob.escape(target.name)}.*.old") if is_bundle(path)]
    if left and not target.exists():
        newest = max(left, key=lambda path: path.stat().st_ctime_ns)
        hint = f"writing it was cut off, and what was there before is `{newest}`: move that to `{folder}`"
    raise InputError(f"the folder `{folder}` {what}, expected a bundle", hint)


def _read_all(folder: Path, limits: Mapping[str, int]) -> dict[str, bytes]:
    return {name: _read(folder / name, limit) for name, limit in limits.items() if (folder / name).is_file()}


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte more than allowed tells a file that is too large from one that just fits.
            size = os.fstat(file.fileno()).st_size
            if size <= limit:
                return file.read(limit + 1)
    except OSError as error:
        raise InputError(f"cannot read `{path.name}`: {error.strerror}", "make it readable") from error
    raise InputError(
        f"`{path.name}` has {size} bytes, expected at most {limit}",
        "this is no policy of ours; train a smaller network",
    )


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
