"""Tests of process records: a process is found by its start time, ended with all of its group, and never mistaken."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longshore.core.words.errors import LongshoreError
from longshore_lab.cluster import processes
from longshore_lab.cluster.processes import ProcessRecord

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "part.log"


def wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + 20
    while text not in log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_started_process_is_alive_until_it_is_stopped(log: Path, tmp_path: Path) -> None:
    record = processes.start(SLEEP, log, tmp_path)
    assert processes.is_alive(record)
    processes.stop([record], 10.0)
    assert not processes.is_alive(record)
    assert not Path(f"/proc/{record.pid}").exists()


def test_what_it_says_goes_to_the_end_of_the_log(log: Path, tmp_path: Path) -> None:
    log.write_text("before\n")
    processes.start([sys.executable, "-c", "print('said')"], log, tmp_path)
    wait_for(log, "said")
    assert log.read_text() == "before\nsaid\n"


def test_a_process_that_has_ended_is_not_alive(log: Path, tmp_path: Path) -> None:
    record = processes.start([sys.executable, "-c", ""], log, tmp_path)
    deadline = time.monotonic() + 20
    while processes.is_alive(record):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert processes.memory_bytes(record) is None
    assert processes.send(record, signal.SIGTERM) is False


def test_a_process_id_that_was_given_to_another_is_not_touched(log: Path, tmp_path: Path) -> None:
    record = processes.start(SLEEP, log, tmp_path)
    mistaken = ProcessRecord(record.pid, f"{record.started}0")
    assert not processes.is_alive(mistaken)
    processes.stop([mistaken], 0.1)
    assert processes.is_alive(record)
    processes.stop([record], 10.0)


def test_one_that_does_not_listen_is_killed_after_the_grace_time(log: Path, tmp_path: Path) -> None:
    record = processes.start(STUBBORN, log, tmp_path)
    wait_for(log, "up")
    processes.stop([record], 0.2)
    assert not processes.is_alive(record)


def test_a_paused_one_is_stopped_without_being_killed(log: Path, tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(print('asked', flush=True)))\n"
    )
    record = processes.start([sys.executable, "-c", f"{program}print('up', flush=True)\ntime.sleep(60)"], log, tmp_path)
    wait_for(log, "up")
    processes.send(record, signal.SIGSTOP)
    processes.stop([record], 20.0)
    assert "asked" in log.read_text()


def test_children_end_with_it(log: Path, tmp_path: Path) -> None:
    child = "import time; print(42, flush=True); time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    record = processes.start([sys.executable, "-c", program], log, tmp_path)
    wait_for(log, "42")
    processes.stop([record], 10.0)
    deadline = time.monotonic() + 20
    while processes.find_marked(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_memory_is_that_of_the_process(log: Path, tmp_path: Path) -> None:
    program = "import time; x = b'1' * 80_000_000; print('up', flush=True); time.sleep(60)"
    record = processes.start([sys.executable, "-c", program], log, tmp_path)
    wait_for(log, "up")
    memory = processes.memory_bytes(record)
    processes.stop([record], 10.0)
    assert memory is not None
    assert 80_000_000 < memory < 200_000_000


def test_a_preferred_process_weighs_more(log: Path, tmp_path: Path) -> None:
    record = processes.start(SLEEP, log, tmp_path)
    group = Path(f"/proc/{record.pid}/autogroup")

    def niceness() -> int:
        is_grouped = group.exists()
        return int(group.read_text().split()[-1]) if is_grouped else os.getpriority(os.PRIO_PROCESS, record.pid)

    try:
        before = niceness()
        if os.getuid() == 0:
            processes.prefer(record)
            assert niceness() < before
        else:
            with pytest.raises(LongshoreError, match="cannot be preferred"):
                processes.prefer(record)
            assert niceness() == before
    finally:
        processes.stop([record], 10.0)


def test_a_process_without_a_record_is_found_by_its_mark(log: Path, tmp_path: Path) -> None:
    record = processes.start(SLEEP, log, tmp_path)
    assert processes.find_marked(tmp_path) == [record]
    assert processes.find_marked(tmp_path / "other") == []
    processes.stop([record], 10.0)


def test_this_process_is_never_found(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from longshore_lab.cluster import processes; "
        f"print(processes.find_marked(Path({str(tmp_path)!r})))"
    )
    environment = {**os.environ, processes.MARK: str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
