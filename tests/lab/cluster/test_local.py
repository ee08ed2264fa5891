"""Tests of a cluster's parts with small programs in their place: status, stopping, pausing, starting again."""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.core.words.errors import LongshoreError, UnknownNameError
from longshore_lab.cluster import processes, state
from longshore_lab.cluster.local import LocalCluster, last_lines
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord, PartRecord

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def cluster(own_cache: Path) -> Iterator[LocalCluster]:
    folder = own_cache / "clusters" / "one"
    (folder / "logs").mkdir(parents=True)
    cluster = LocalCluster(folder, ClusterRecord(options=ClusterOptions(name="one"), ports={"kube-apiserver": 7}))
    cluster.add_part(PartRecord(name="sleeper", command=SLEEP, port=5))
    yield cluster
    processes.stop(processes.find_marked(folder), 5.0)


def wait_until_dead(cluster: LocalCluster, name: str) -> None:
    deadline = time.monotonic() + 20
    while next(part.state for part in cluster.status() if part.name == name) != "dead":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_memory_is_mapped(cluster: LocalCluster) -> None:
    """A process that has only just been started holds a few pages; an interpreter soon holds megabytes."""
    deadline = time.monotonic() + 20
    while (next(iter(cluster.status())).memory_bytes or 0) < 1_000_000:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_running_part_shows_what_it_holds(cluster: LocalCluster) -> None:
    (part,) = cluster.status()
    assert (part.name, part.state, part.port) == ("sleeper", "running", 5)
    wait_until_memory_is_mapped(cluster)
    cluster.check_alive()


def test_a_part_that_died_shows_the_end_of_its_log(cluster: LocalCluster) -> None:
    program = "for line in range(30): print('line', line)\nraise SystemExit(3)"
    cluster.add_part(PartRecord(name="broken", command=[sys.executable, "-c", program]))
    wait_until_dead(cluster, "broken")
    part = next(part for part in cluster.status() if part.name == "broken")
    assert part.last_lines[-1] == "line 29"
    assert len(part.last_lines) == 15
    with pytest.raises(LongshoreError, match=r"broken has ended; the last lines of its log:\n(.*\n)*line 29"):
        cluster.check_alive()
    cluster.check_alive(["sleeper"])


def test_a_part_that_was_stopped_is_not_dead(cluster: LocalCluster) -> None:
    cluster.stop_part("sleeper")
    assert [part.state for part in cluster.status()] == ["stopped"]
    cluster.check_alive()


def test_a_stopped_part_starts_again_with_its_command_and_port(cluster: LocalCluster) -> None:
    before = cluster.status()[0]
    cluster.stop_part("sleeper", grace_seconds=0)
    cluster.start_part("sleeper")
    after = cluster.status()[0]
    assert (after.state, after.port) == ("running", before.port)
    assert after.pid != before.pid


def test_a_running_part_is_not_started_twice(cluster: LocalCluster) -> None:
    before = cluster.status()[0].pid
    cluster.start_part("sleeper")
    assert cluster.status()[0].pid == before


def test_pausing_keeps_the_process(cluster: LocalCluster) -> None:
    pid = cluster.status()[0].pid
    cluster.pause_part("sleeper")
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
    assert cluster.status()[0].state == "running"
    cluster.resume_part("sleeper")
    assert cluster.status()[0].pid == pid


def test_one_that_does_not_run_cannot_be_paused(cluster: LocalCluster) -> None:
    cluster.stop_part("sleeper")
    with pytest.raises(LongshoreError, match="sleeper of the cluster `one` does not run"):
        cluster.pause_part("sleeper")


def test_an_unknown_part_names_those_that_are_there(cluster: LocalCluster) -> None:
    with pytest.raises(UnknownNameError, match="`sleeper`"):
        cluster.stop_part("sleeping")


def test_what_was_started_is_on_disk_at_once(cluster: LocalCluster) -> None:
    process = state.read_record("one").parts["sleeper"].process
    assert process is not None
    assert processes.is_alive(process)
    processes.send(process, signal.SIGKILL)
    wait_until_dead(cluster, "sleeper")


def test_the_last_lines_of_a_long_log_are_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("".join(f"{number}\n" for number in range(100_000)))
    assert last_lines(log, 2) == ["99998", "99999"]
    assert last_lines(tmp_path / "none.log") == []
