"""Processes that outlive the command which started them, known by process id and start time.

The start time is what makes the record safe: a process id is given to somebody else one day. Every process also
carries the cluster's folder in its environment, so that one which was started but not recorded can still be found.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from longshore.core.words.errors import LongshoreError

MARK = "LONGSHORE_CLUSTER_FOLDER"
"""The variable of the environment that says to which cluster a process belongs."""
_POLL_SECONDS = 0.02
_KILL_SECONDS = 10.0
_PREFERRED_NICENESS = -10
"""About nine times the weight of others."""
_children: dict[int, "subprocess.Popen[bytes]"] = {}
"""Those that this very process started: they must be asked how they ended, or they stay as zombies."""


class ProcessRecord(msgspec.Struct, frozen=True):
    """A process of this machine, for as long as it is the same process."""

    pid: int
    started: str
    """Boot and clock ticks since then."""


def start(
    command: Sequence[str], log: Path, folder: Path, environment: Mapping[str, str] | None = None
) -> ProcessRecord:
    """Start a process of the cluster in that folder, in a session of its own; what it says is appended to the log."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **(environment or {}), MARK: str(folder)},
            start_new_session=True,
        )
    _children[process.pid] = process
    # A child is there (as a zombie at least) until it is polled, so this cannot miss it.
    return ProcessRecord(process.pid, _start_time(process.pid) or "")


def is_alive(record: ProcessRecord) -> bool:
    """Say whether that very process still runs."""
    child = _children.get(record.pid)
    if child is not None and child.poll() is not None:
        del _children[record.pid]
    return record.started != "" and _start_time(record.pid) == record.started


def memory_bytes(record: ProcessRecord) -> int | None:
    """Return the memory that the process holds, or None if it has ended."""
    if not is_alive(record):
        return None
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{record.pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return None


def prefer(record: ProcessRecord) -> None:
    """Let a process go before others of this machine when cores are short, as a larger CPU request does in a cluster.

    Linux weighs sessions, and processes only within one (autogroup); where it does not, the process itself is weighed.

    Raises:
        LongshoreError: that is not allowed to us.
    """
    group = Path(f"/proc/{record.pid}/autogroup")
    try:
        if group.exists():
            group.write_text(str(_PREFERRED_NICENESS), encoding="ascii")
        else:
            os.setpriority(os.PRIO_PROCESS, record.pid, _PREFERRED_NICENESS)
    except OSError as error:
        raise LongshoreError(f"process {record.pid} cannot be preferred: {error}", "run it as root") from error


def send(record: ProcessRecord, signal_number: int) -> bool:
    """Send a signal to a process, and to its group if it leads one; return whether it was there."""
    if not is_alive(record):
        return False
    try:
        is_leader = os.getpgid(record.pid) == record.pid
        (os.killpg if is_leader else os.kill)(record.pid, signal_number)
    except ProcessLookupError:
        return False
    return True


def stop(records: Iterable[ProcessRecord], grace_seconds: float) -> None:
    """Ask processes to end, and end those that have not after the grace time; return when they are gone."""
    waiting = [record for record in records if send(record, signal.SIGTERM)]
    for record in waiting:
        send(record, signal.SIGCONT)  # one that is paused would never hear of it
    waiting = _wait(waiting, grace_seconds)
    for record in waiting:
        send(record, signal.SIGKILL)
    _wait(waiting, _KILL_SECONDS)


def find_marked(folder: Path) -> list[ProcessRecord]:
    """Return the processes that carry the folder's mark, except this one."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        with contextlib.suppress(OSError):
            started = _start_time(pid)
            if pid != os.getpid() and mark in (path / "environ").read_bytes().split(b"\0") and started:
                found.append(ProcessRecord(pid, started))
    return found


def _wait(records: list[ProcessRecord], seconds: float) -> list[ProcessRecord]:
    """Wait until all have ended; return those that have not."""
    deadline = time.monotonic() + seconds
    while records := [record for record in records if is_alive(record)]:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    return records


def _start_time(pid: int) -> str | None:
    """Return when a running process was started, or None; a zombie does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        num_threads = sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    # A killed process is a zombie as soon as its first thread is; until the others are gone too, its ports are taken.
    return None if fields[0] in "ZX" and num_threads <= 1 else f"{boot}/{fields[19]}"
