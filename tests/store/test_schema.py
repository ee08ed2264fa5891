"""The schema: the same columns as the record, steps for older files, a sentence for newer ones."""

import re
import sqlite3
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from longshore.core.words.decision import MODES, Decision
from longshore.core.words.errors import InputError, LongshoreError
from longshore.store import schema
from longshore.store.location import default_store
from store.samples import sample

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "decision-log.md"


def engine(path: Path) -> sa.Engine:
    return schema.create_engine(schema.store_url(str(path)))


def test_columns_are_fields_of_decisions():
    fields = {field.name for field in msgspec.structs.fields(Decision)}
    # What a scheduler needs at once, or only who asked for every node, is not kept.
    passing = {"devices", "is_held_back", "num_resolvable", "rejections", "rejectors", "scores"}
    assert set(schema.COLUMNS) == fields - passing


def test_a_row_has_what_the_decision_says():
    row = schema.row_of(sample(7, node=None, pending_reason="full"))
    assert (row["pod_name"], row["node"], row["pending_reason"]) == ("pod-7", None, "full")
    assert tuple(row) == schema.COLUMNS


def test_the_reference_page_lists_every_column_and_mode():
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.M)) == sorted(schema.COLUMNS)
    assert all(f"`{mode}`" in text for mode in MODES)


def test_migrate_makes_a_store_of_the_newest_version(tmp_path: Path):
    schema.migrate(engine(tmp_path / "d.db"))
    assert schema.read_version(engine(tmp_path / "d.db")) == len(schema.MIGRATIONS)


def test_migrate_runs_only_the_steps_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    schema.migrate(engine(tmp_path / "d.db"))

    def add_column(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE decisions ADD COLUMN added TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_column))
    schema.migrate(engine(tmp_path / "d.db"))
    schema.migrate(engine(tmp_path / "d.db"))
    columns = sa.inspect(engine(tmp_path / "d.db")).get_columns("decisions")
    assert columns[-1]["name"] == "added"
    assert schema.read_version(engine(tmp_path / "d.db")) == len(schema.MIGRATIONS)


def test_migrate_that_fails_leaves_the_old_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    schema.migrate(engine(tmp_path / "d.db"))

    def fail(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE decisions ADD COLUMN added TEXT")
        connection.exec_driver_sql("SELECT * FROM nowhere")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
    with pytest.raises(sa.exc.OperationalError):
        schema.migrate(engine(tmp_path / "d.db"))
    assert schema.read_version(engine(tmp_path / "d.db")) == len(schema.MIGRATIONS) - 1
    assert "added" not in {column["name"] for column in sa.inspect(engine(tmp_path / "d.db")).get_columns("decisions")}


def test_migrate_adds_the_models_to_a_decision_log_of_the_first_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as first:
        first.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        schema.migrate(engine(tmp_path / "d.db"))
    assert not sa.inspect(engine(tmp_path / "d.db")).has_table("model_versions")
    schema.migrate(engine(tmp_path / "d.db"))
    assert sa.inspect(engine(tmp_path / "d.db")).has_table("model_versions")


def newer_store(path: Path) -> Path:
    schema.migrate(engine(path))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    return path


def test_check_store_refuses_a_newer_file_with_a_sentence(tmp_path: Path):
    path = newer_store(tmp_path / "d.db")
    with pytest.raises(InputError, match=r"has schema version 99, this longshore knows up to 2") as caught:
        schema.check_store(str(path))
    assert caught.value.hint == "update longshore, or give another file"


def test_check_store_refuses_what_is_no_database(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("these are notes, and no database at all" * 100)
    with pytest.raises(LongshoreError, match=r"cannot use the store `.*notes.txt`: file is not a database"):
        schema.check_store(str(tmp_path / "notes.txt"))


def test_check_store_refuses_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(LongshoreError, match="unable to open database file"):
        schema.check_store(str(tmp_path / "missing" / "d.db"))


def test_check_store_makes_the_file(tmp_path: Path):
    schema.check_store(str(tmp_path / "d.db"))
    assert (tmp_path / "d.db").is_file()


def test_check_store_makes_the_folder_of_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    schema.check_store(str(default_store()))
    assert default_store().is_file()


def test_a_driver_that_is_not_installed_is_a_sentence():
    with pytest.raises(LongshoreError, match=r"`oracle.*` needs a driver that is not installed"):
        schema.create_engine(schema.store_url("oracle://host/name"))


def test_store_name_hides_the_password():
    url = schema.store_url("postgresql+psycopg://me:geheim@host/name")
    assert "geheim" not in schema.store_name(url)


@pytest.mark.parametrize("text", ["", "  ", "://"], ids=["empty", "spaces", "no scheme"])
def test_store_url_refuses_what_is_no_address(text: str):
    with pytest.raises(InputError):
        schema.store_url(text)


def test_an_address_that_cannot_be_read_keeps_its_password_to_itself():
    with pytest.raises(InputError, match="begins with `postgresql://` and is no address") as caught:
        schema.store_url("postgresql://me:geheim@host:port/name")
    assert "geheim" not in str(caught.value)


def test_postgresql_takes_the_same_tables():
    from sqlalchemy.dialects import postgresql

    text = str(sa.schema.CreateTable(schema.DECISIONS).compile(dialect=postgresql.dialect()))
    assert "candidates JSON NOT NULL" in text
    assert "time_us BIGINT NOT NULL" in text
