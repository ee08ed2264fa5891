"""The decision log: nothing is lost that could be written, and nothing that goes wrong reaches the caller."""

import contextlib
import logging
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longshore.store import decisions
from longshore.store.decisions import DecisionLog
from longshore.store.reader import DecisionReader
from store.postgres import empty_database, postgres
from store.samples import sample

__all__ = ["empty_database", "postgres"]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "decisions.db")


@contextlib.contextmanager
def locked(store: str) -> Iterator[None]:
    """Hold the file as another writer would."""
    connection = sqlite3.connect(store, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def wait_until(is_true, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_records_come_back_as_they_were_given(store: str):
    given = sample(pending_reason=None, node=None, score=None, fallback_reason="deadline", cluster="west", attempt=3)
    with DecisionLog(store) as log:
        log.add(given)
        (got,) = log.recent(5)
    assert got.id
    assert {**vars_of(got), "id": ""} == vars_of(given)


def vars_of(record) -> dict[str, object]:
    import msgspec

    return msgspec.structs.asdict(record)


def test_close_writes_what_is_left(store: str):
    log = DecisionLog(store)
    for number in range(1234):
        log.add(sample(number))
    log.close()
    assert DecisionReader(store).count() == 1234
    assert (log.num_written, log.num_dropped) == (1234, 0)


def test_what_comes_after_close_is_counted_as_lost(store: str):
    log = DecisionLog(store)
    log.close()
    log.add(sample())
    assert log.num_dropped == 1


def test_records_are_written_soon_without_being_asked(store: str):
    with DecisionLog(store) as log:
        log.add(sample())
        wait_until(lambda: log.num_written == 1, seconds=60)


def test_outcome_goes_into_its_row_before_and_after_it_is_written(store: str):
    with DecisionLog(store) as log:
        early, late = log.add(sample(0)), log.add(sample(1))
        log.set_outcome(early, "bound", bind_us=2100)
        log.flush()
        log.set_outcome(late, "bind-error", "pod uid-1 is gone")
        newest, oldest = log.recent(2)
    assert (oldest.outcome, oldest.bind_us) == ("bound", 2100)
    assert (newest.outcome, newest.outcome_message) == ("bind-error", "pod uid-1 is gone")


def test_query_by_pod_and_time_newest_first(store: str):
    with DecisionLog(store) as log:
        for number in range(4):
            log.add(sample(number, pod_name="api" if number else "other", attempt=number))
        found = log.query(pod="shop/api", since_us=sample(2).time_us)
    assert [record.attempt for record in found] == [3, 2]


def test_a_locked_file_delays_and_loses_nothing(store: str):
    with DecisionLog(store) as log:
        log.add(sample(0))
        log.flush()
        with locked(store):
            started = time.perf_counter()
            log.add(sample(1))
            assert time.perf_counter() - started < 3  # one that waited for the lock would take until it is given up
            assert not log.flush(timeout_seconds=10)
            assert log.num_dropped == 0
        wait_until(lambda: log.num_written == 2)


def test_a_full_ring_drops_the_oldest_and_counts_them(store: str):
    with DecisionLog(store, ring_size=10) as log:
        log.flush()
        log.add(sample(0))
        log.flush()
        with locked(store):
            for number in range(1, 31):
                log.add(sample(number))
            wait_until(lambda: log.num_dropped >= 20)
        wait_until(lambda: log.num_written + log.num_dropped == 31)
        assert log.recent(1)[0].pod_name == "pod-30"


@pytest.mark.parametrize("trouble", ["missing folder", "folder in the way", "no database"])
def test_trouble_with_the_file_is_logged_once_and_counted(
    tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decisions, "RETRY_SECONDS", 0.01)
    path = tmp_path / "x" / "d.db"
    if trouble == "folder in the way":
        path.mkdir(parents=True)
    elif trouble == "no database":
        path.parent.mkdir()
        path.write_bytes(b"no database" * 500)
    log = DecisionLog(str(path))
    with caplog.at_level(logging.WARNING):
        log.add(sample())
        assert not log.flush()
        assert not log.flush()
        log.close()
    assert log.num_dropped == 1
    assert len(caplog.records) == 1
    assert "cannot write store=" in caplog.text


@pytest.fixture
def small_disk(tmp_path: Path, require_component) -> Iterator[Path]:
    """Give a disk of one megabyte: a file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False
    )
    require_component("the right to mount a tmpfs", "sudo", mounted.returncode == 0)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> Path:
    """Write until the disk is full."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left on device"):
        while True:
            file.write(b"x" * 512)
    return path


def test_a_full_disk_loses_nothing_that_fits_later(small_disk: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "RETRY_SECONDS", 0.01)
    with DecisionLog(str(small_disk / "decisions.db")) as log:
        log.add(sample(0))
        assert log.flush()
        filler = fill(small_disk)
        for number in range(1, 201):
            log.add(sample(number))
        assert not log.flush()
        filler.unlink()
        wait_until(lambda: log.num_written == 201)
        assert log.num_dropped == 0
        assert sorted(record.pod_name for record in log.recent(300)) == sorted(f"pod-{i}" for i in range(201))


def test_a_disk_that_is_full_from_the_start_costs_what_the_ring_cannot_hold(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decisions, "RETRY_SECONDS", 0.01)
    filler = fill(small_disk)
    with DecisionLog(str(small_disk / "decisions.db"), ring_size=50) as log:
        for number in range(80):
            log.add(sample(number))
        assert not log.flush()
        filler.unlink()
        wait_until(lambda: log.num_written + log.num_dropped == 80)
        assert log.num_written == 50


def test_a_file_that_is_deleted_is_made_again(store: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "RETRY_SECONDS", 0.01)
    with DecisionLog(store) as log:
        log.add(sample(0))
        log.flush()
        for path in Path(store).parent.iterdir():
            path.unlink()
        log.add(sample(1))
        wait_until(lambda: log.num_written == 2)
        assert [record.pod_name for record in log.recent()] == ["pod-1"]


def test_a_record_that_no_database_takes_costs_only_itself(store: str):
    with DecisionLog(store) as log:
        log.add(sample(0))
        log.add(sample(1, pod_name="\ud800"))
        log.add(sample(2, latency_us=2**70))
        log.add(sample(3))
        assert [record.pod_name for record in log.recent()] == ["pod-3", "pod-0"]
        assert log.num_dropped == 2


def test_old_decisions_are_pruned(store: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "PRUNE_EVERY_ROWS", 100)
    with DecisionLog(store, kept_rows=50) as log:
        for number in range(500):
            log.add(sample(number))
        log.flush()
        assert DecisionReader(store).count() == 50
        assert log.recent(1)[0].pod_name == "pod-499"


def test_two_logs_and_two_readers_share_a_file(store: str):
    with DecisionLog(store) as first, DecisionLog(store) as second:
        first.add(sample(0))
        first.flush()
        readers = [DecisionReader(store), DecisionReader(store)]
        for number in range(1, 600):
            (first if number % 2 else second).add(sample(number))
        seen = [reader.recent(1000) for reader in readers]  # while both write
        assert all(records for records in seen)
        assert first.flush()
        assert second.flush()
        assert [reader.count() for reader in readers] == [600, 600]


KILLED_WRITER = """
import sys
from store.samples import sample
from longshore.store.decisions import DecisionLog
log = DecisionLog(sys.argv[1])
number = 0
while True:
    for _ in range(200):
        log.add(sample(number)); number += 1
    log.flush()
    print(log.num_written, flush=True)
"""


def test_a_killed_writer_leaves_a_file_that_reads(store: str):
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", KILLED_WRITER, store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": tests}) as process:
        assert process.stdout is not None
        written = 0
        while written < 1000:
            written = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    count = DecisionReader(store).count()
    assert count >= written
    with DecisionLog(store) as log:  # the next process goes on where it was
        log.add(sample(9, time_us=2 * 10**15))
        assert log.flush()
        assert log.recent(1)[0].time_us == 2 * 10**15
    with contextlib.closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def yield_at_every_line(frame, event, argument):
    """Trace a thread so that others go first at every line of the log, which shows a race every time."""
    if frame.f_code.co_filename != decisions.__file__:
        return None
    time.sleep(0)
    return yield_at_every_line


def test_adding_from_many_threads_loses_nothing(store: str):
    with DecisionLog(store) as log:
        threading.settrace(yield_at_every_line)
        try:
            with ThreadPoolExecutor(4) as pool:
                ids = list(pool.map(log.add, map(sample, range(1000))))
        finally:
            threading.settrace(None)
        assert log.flush()
        assert len(set(ids)) == 1000
        assert {record.id for record in log.query(limit=2000)} == set(ids)


def test_postgresql_takes_decisions_by_the_same_code(empty_database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "PRUNE_EVERY_ROWS", 100)
    with DecisionLog(empty_database, kept_rows=50) as log:
        for number in range(200):
            log.add(sample(number))
        assert log.flush()
        log.set_outcome(log.add(sample(200, pod_name="last")), "bound", bind_us=2100)
        log.add(sample(201, pod_name="\ud800"))
        (got,) = log.query(pod="shop/last")
        assert (got.outcome, got.bind_us, got.candidates) == ("bound", 2100, sample().candidates)
        assert (log.num_dropped, len(log.recent(1000))) == (1, 51)
