"""Reading the log: what is not there or not ours is a sentence, and reading changes nothing."""

import sqlite3
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError, LongshoreError
from longshore.store.decisions import DecisionLog
from longshore.store.reader import DecisionReader
from store.samples import sample


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "decisions.db")
    with DecisionLog(path) as log:
        for number in range(30):
            log.add(sample(number, node="a" if number % 3 else None))
    return path


def test_recent_gives_the_newest_first(store: str):
    assert [record.pod_name for record in DecisionReader(store).recent(3)] == ["pod-29", "pod-28", "pod-27"]


def test_query_by_node(store: str):
    assert len(DecisionReader(store).query(node="a")) == 20


def test_query_wants_namespace_and_name(store: str):
    with pytest.raises(InputError, match="got the pod `pod-1`, expected `namespace/name`"):
        DecisionReader(store).query(pod="pod-1")


def test_a_missing_file_is_a_sentence_and_is_not_made(tmp_path: Path):
    with pytest.raises(InputError, match="there is no decision log at"):
        DecisionReader(str(tmp_path / "none.db"))
    assert list(tmp_path.iterdir()) == []


def test_another_database_is_no_decision_log(tmp_path: Path):
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    with pytest.raises(InputError, match="is no decision log"):
        DecisionReader(str(tmp_path / "other.db"))


def test_a_newer_file_is_refused(store: str):
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    with pytest.raises(InputError, match="has schema version 99"):
        DecisionReader(store)


def test_a_broken_file_is_a_sentence(tmp_path: Path):
    (tmp_path / "d.db").write_bytes(b"x" * 5000)
    with pytest.raises(LongshoreError, match="file is not a database"):
        DecisionReader(str(tmp_path / "d.db"))


def test_a_path_with_question_marks_and_spaces_reads(tmp_path: Path):
    path = str(tmp_path / "my log? 100%.db")
    with DecisionLog(path) as log:
        log.add(sample())
    assert DecisionReader(path).count() == 1
