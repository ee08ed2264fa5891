"""The cgroup of a real node, in every hierarchy of the machine: made before its kubelet, emptied and removed after."""

import contextlib
import os
import signal
import time
from pathlib import Path

from longshore.core.words.errors import LongshoreError

ROOT = Path("/sys/fs/cgroup")
_EMPTY_SECONDS = 10.0


def hierarchies(root: Path = ROOT) -> list[Path]:
    """Return where cgroups are made: one folder with cgroup v2, one for each controller (and one more) with v1."""
    if (root / "cgroup.controllers").is_file():
        return [root]
    # A link is a second name of a hierarchy (`cpu` for `cpu,cpuacct`).
    return sorted(path for path in root.iterdir() if (path / "cgroup.procs").is_file() and not path.is_symlink())


def create(name: str, root: Path = ROOT) -> None:
    """Make the cgroup `name` (folders separated by `/`) in every hierarchy, ready for children."""
    for hierarchy in hierarchies(root):
        folder = hierarchy
        for part in name.strip("/").split("/"):
            _prepare_children(folder)
            folder = folder / part
            folder.mkdir(exist_ok=True)
        _prepare_children(folder)


def remove(name: str, root: Path = ROOT) -> None:
    """End every process in the cgroup `name` and below it, then remove it.

    Raises:
        LongshoreError: a process does not end.
    """
    for hierarchy in hierarchies(root):
        top = hierarchy / name.strip("/")
        if top.is_dir():
            _empty(top)
            folders = sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True)
            for folder in (*folders, top):  # the deepest first
                with contextlib.suppress(FileNotFoundError):
                    folder.rmdir()


def _empty(top: Path) -> None:
    deadline = time.monotonic() + _EMPTY_SECONDS
    while pids := _pids(top):
        if time.monotonic() > deadline:
            raise LongshoreError(f"processes {pids} in the cgroup `{top}` do not end")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _pids(top: Path) -> list[int]:
    found: set[int] = set()
    for file in top.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            found.update(int(line) for line in file.read_text().split())
    return sorted(found)


def _prepare_children(folder: Path) -> None:
    """Hand on what children need: all controllers with v2, CPUs and memory nodes with v1's cpuset."""
    available = folder / "cgroup.controllers"
    if available.is_file():
        for controller in available.read_text().split():
            with contextlib.suppress(OSError):  # one that cannot be handed on is not needed
                (folder / "cgroup.subtree_control").write_text(f"+{controller}")
    for file in ("cpuset.cpus", "cpuset.mems"):
        path = folder / file
        if path.is_file() and not path.read_text().strip() and (folder.parent / file).is_file():
            path.write_text((folder.parent / file).read_text())
