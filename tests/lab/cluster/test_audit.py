"""The audit log: which writes are counted, and for whom."""

import json
from pathlib import Path

from longshore_lab.cluster.audit import audit_arguments, audit_log, count_writes


def line(user: str, verb: str, resource: str, subresource: str = "", stage: str = "ResponseComplete") -> bytes:
    target = {"resource": resource, "subresource": subresource, "namespace": "default"}
    content = {"kind": "Event", "stage": stage, "verb": verb, "user": {"username": user}, "objectRef": target}
    return json.dumps(content).encode() + b"\n"


def test_writes_are_counted_by_user_and_by_what_was_done(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        2 * line("one", "create", "pods", "binding") + line("one", "patch", "events") + line("two", "create", "pods")
    )
    assert count_writes(log) == {"one": {"create pods/binding": 2, "patch events": 1}, "two": {"create pods": 1}}


def test_what_was_written_before_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line("one", "create", "pods"))
    began_at = log.stat().st_size
    log.write_bytes(log.read_bytes() + line("two", "create", "pods"))
    assert count_writes(log, began_at) == {"two": {"create pods": 1}}


def test_a_line_that_is_being_written_does_not_count_yet(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line("one", "create", "pods") + line("one", "create", "pods")[:40])
    assert count_writes(log) == {"one": {"create pods": 1}}


def test_a_request_that_ended_in_a_panic_is_not_a_write(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line("one", "create", "pods", stage="Panic") + line("one", "create", "pods"))
    assert count_writes(log) == {"one": {"create pods": 1}}


def test_the_server_is_told_where_the_log_is(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    assert f"--audit-log-path={audit_log(tmp_path)}" in audit_arguments(tmp_path)
