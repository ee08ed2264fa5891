"""The registry of models, on SQLite and on PostgreSQL: versions, aliases, nothing lost and nothing changed."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from longshore.core.network.bundle_files import CARD_FILE, POLICY_FILE, WEIGHTS_FILE, write_bundle
from longshore.core.words.errors import InputError, LongshoreError
from longshore.store import models
from longshore.store.decisions import DecisionLog
from longshore.store.models import ModelRegistry, check_name
from longshore.store.schema import LOCK_WAIT_SECONDS, create_engine, store_url
from store.postgres import empty_database, postgres
from store.samples import sample
from support.bundle_samples import deepsets_tensors, make_bundle

__all__ = ["empty_database", "postgres"]


def files(seed: int = 0, **changes: object) -> dict[str, bytes]:
    return write_bundle(make_bundle(tensors=deepsets_tensors(4, seed), **changes))


@contextlib.contextmanager
def connected(store: str) -> Iterator[sa.Connection]:
    """Look at the tables, or change them, past the registry."""
    engine = create_engine(store_url(store))
    with engine.begin() as connection:
        yield connection
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return str(request.getfixturevalue("empty_database"))


@pytest.fixture
def registry(store: str):
    with ModelRegistry(store) as opened:
        yield opened


def test_pushing_counts_versions_by_name(registry: ModelRegistry):
    pushed = [registry.push(files(seed), name=name) for seed, name in enumerate(["a", "a", "b"])]
    assert [(one.name, one.version) for one in pushed] == [("a", 1), ("a", 2), ("b", 1)]
    assert [(one.name, one.version) for one in registry.versions()] == [("a", 2), ("a", 1), ("b", 1)]


def test_pushing_the_same_again_gives_its_version(registry: ModelRegistry):
    first = registry.push(files(0))
    registry.push(files(1))
    again = registry.push(files(0))
    assert (first.name, again.version) == ("sample", 1)
    assert len(registry.versions()) == 2


def test_a_content_is_kept_once(store: str, registry: ModelRegistry):
    registry.push(files(0), name="a")
    registry.push(files(0, objective="watts"), name="b")
    with connected(store) as connection:
        sizes = dict(connection.execute(sa.text("SELECT sha256, size FROM model_files")).all())
    assert len(sizes) == 5, "the weights are shared, policy and card are not"
    assert sizes[registry.find("a", "1").files[WEIGHTS_FILE].sha256] == len(files()[WEIGHTS_FILE])


def test_pull_gives_the_bytes_that_were_pushed(registry: ModelRegistry):
    given = files()
    registry.push(given, alias="live")
    found, got = registry.pull("sample", "live")
    assert got == given
    assert (found.version, found.objective, found.aliases) == (1, "el-rl", ("live",))
    assert registry.pull("sample", "1")[1] == given


def test_an_alias_moves_with_a_push_and_back_by_hand(registry: ModelRegistry):
    registry.push(files(0), alias="live")
    assert registry.push(files(1), alias="live").aliases == ("live",)
    assert registry.find("sample", "live").version == 2
    found, before = registry.promote("sample", "1", "live")
    assert (found.version, before) == (1, 2)
    assert registry.find("sample", "live").version == 1
    assert registry.promote("sample", "live", "tried")[1] is None
    assert registry.find("sample", "1").aliases == ("live", "tried")


def test_what_is_not_there_is_said_with_what_is(registry: ModelRegistry):
    registry.push(files(), name="el-rl", alias="live")
    with pytest.raises(InputError, match="unknown model `el-lr`"):
        registry.find("el-lr", "live")
    with pytest.raises(InputError, match="has no version or alias `7`, expected one of: 1, `live`"):
        registry.promote("el-rl", "7")


def test_of_many_versions_the_newest_are_said(registry: ModelRegistry):
    for seed in range(11):
        registry.push(files(seed))
    with pytest.raises(InputError, match="expected one of: 11, 10, 9, 8, 7, 6, 5, 4, 3 older ones"):
        registry.find("sample", "12")


@pytest.mark.parametrize("name", ["\0", "\udcff", "a" * 5000, "../.."])
def test_what_can_be_no_name_is_not_there(registry: ModelRegistry, name: str):
    registry.push(files())
    with pytest.raises(InputError, match="unknown model"):
        registry.find(name, "1")
    with pytest.raises(InputError, match="has no version or alias"):
        registry.find("sample", name)


def test_a_deleted_version_is_gone_and_its_number_is_not_given_again(registry: ModelRegistry):
    for seed in range(2):
        registry.push(files(seed))
    assert registry.delete("sample", "2").version == 2
    assert [one.version for one in registry.versions()] == [1]
    with pytest.raises(InputError, match="has no version or alias `2`, expected one of: 1"):
        registry.pull("sample", "2")
    assert registry.push(files(2)).version == 3
    assert registry.push(files(1)).version == 4, "the same content again is another version"
    assert registry.pull("sample", "4")[1] == files(1)


def test_a_model_whose_last_version_is_deleted_is_unknown(registry: ModelRegistry):
    registry.push(files())
    registry.delete("sample", "1")
    with pytest.raises(InputError, match="unknown model `sample`; expected one of: none"):
        registry.delete("sample", "1")


def test_deleting_removes_the_contents_that_no_other_version_has(store: str, registry: ModelRegistry):
    registry.push(files(0), name="a")
    registry.push(files(0, objective="watts"), name="b")
    registry.delete("a", "1")
    assert registry.pull("b", "1")[1] == files(0, objective="watts")
    with connected(store) as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM model_files")).scalar() == 3
    registry.delete("b", "1")
    with connected(store) as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM model_files")).scalar() == 0


def test_a_version_with_an_alias_is_not_deleted(registry: ModelRegistry):
    registry.push(files(0), alias="live")
    registry.promote("sample", "1", "tried")
    for which in ("1", "live"):
        with pytest.raises(InputError, match="version 1 of `sample` has the alias `live`, `tried`: "):
            registry.delete("sample", which)
    assert registry.pull("sample", "live")[1] == files(0)


def test_without_its_alias_an_only_version_can_be_deleted(registry: ModelRegistry):
    registry.push(files(), alias="live")
    registry.promote("sample", "1", "canary")
    assert registry.demote("sample", "live").aliases == ("canary",)
    with pytest.raises(InputError, match="has no version or alias `live`, expected one of: 1, `canary`"):
        registry.find("sample", "live")
    assert registry.demote("sample", "canary").aliases == ()
    assert registry.delete("sample", "1").version == 1
    assert registry.versions() == []


def test_an_alias_of_another_model_stays(registry: ModelRegistry):
    for name in ("a", "b"):
        registry.push(files(), name=name, alias="live")
    registry.demote("a", "live")
    assert registry.find("b", "live").version == 1


def test_only_an_alias_can_be_taken_away(registry: ModelRegistry):
    registry.push(files(), alias="live")
    with pytest.raises(InputError, match="got `1`, which is a version of `sample`, expected an alias"):
        registry.demote("sample", "1")
    assert registry.find("sample", "live").aliases == ("live",)


def test_what_is_deleted_meanwhile_is_not_promoted(
    store: str, registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch
):
    for seed in range(2):
        registry.push(files(seed))
    lock = models.lock

    def late_lock(connection: sa.Connection) -> None:
        monkeypatch.setattr(models, "lock", lock)
        registry.delete("sample", "2")
        lock(connection)

    monkeypatch.setattr(models, "lock", late_lock)
    with pytest.raises(InputError, match="has no version or alias `2`"):
        registry.promote("sample", "2")
    with connected(store) as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM model_aliases")).scalar() == 0


def test_a_bundle_that_is_refused_is_not_kept(registry: ModelRegistry):
    broken = {**files(), WEIGHTS_FILE: files()[WEIGHTS_FILE][:-1]}
    with pytest.raises(InputError, match="cut off"):
        registry.push(broken)
    with pytest.raises(InputError, match=r"`policy.json` has \d+ bytes, expected at most"):
        registry.push({**files(), POLICY_FILE: b" " * 2_000_000})
    with pytest.raises(InputError, match=r"`README.md` has 2000000 bytes, expected at most 1048576"):
        registry.push({**files(), CARD_FILE: b"x" * 2_000_000})
    with pytest.raises(InputError, match=r"got the file `../etc`"):
        registry.push({**files(), "../etc": b""})
    assert registry.versions() == []


@pytest.mark.parametrize("name", ["", "..", "a/b", "Big", "ü", ".hidden", "a" * 64, "el rl"])
def test_names_that_are_no_part_of_an_address_are_refused(name: str):
    with pytest.raises(InputError, match="got the name"):
        check_name("name", name)


def test_an_alias_that_reads_as_a_version_is_refused_and_nothing_is_kept(registry: ModelRegistry):
    with pytest.raises(InputError, match="got the alias `3`"):
        registry.push(files(), alias="3")
    assert registry.versions() == []


PUSHER = """
import sys
from support.bundle_samples import deepsets_tensors, make_bundle
from longshore.core.network.bundle_files import write_bundle
from longshore.store.models import ModelRegistry
with ModelRegistry(sys.argv[1]) as registry:
    for seed in range(int(sys.argv[2]), int(sys.argv[2]) + 5):
        print(registry.push(write_bundle(make_bundle(tensors=deepsets_tensors(4, seed))), alias="live").version)
"""


def test_pushes_at_the_same_time_get_versions_of_their_own_and_lose_nothing(store: str, registry: ModelRegistry):
    tests = str(Path(__file__).parents[1])
    starts = [0, 5, 8]  # two contents are pushed by two of them
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PUSHER, store, str(start)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": tests},
        )
        for start in starts
    ]
    given = [[int(line) for line in process.communicate()[0].split()] for process in processes]
    assert [len(versions) for versions in given] == [5, 5, 5]
    assert sorted({version for versions in given for version in versions}) == list(range(1, 14))
    assert {registry.pull("sample", str(version))[1][WEIGHTS_FILE] for version in range(1, 14)} == {
        files(seed)[WEIGHTS_FILE] for seed in range(13)
    }


def test_a_push_waits_for_another_that_takes_long(tmp_path: Path):
    store = str(tmp_path / "store.db")
    ModelRegistry(store).close()
    held = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
    held.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(LOCK_WAIT_SECONDS + 1, held.rollback)
    timer.start()
    with ModelRegistry(store) as registry:
        assert registry.push(files()).version == 1
    timer.join()
    held.close()


KILLED = """
import os, signal, sys
import sqlalchemy as sa
from longshore.store import models
sa.event.listen(sa.Engine, "commit", lambda _: os.kill(os.getpid(), signal.SIGKILL))
from support.bundle_samples import make_bundle
from longshore.core.network.bundle_files import write_bundle
registry = models.ModelRegistry(sys.argv[1], may_make=False)
registry.push(write_bundle(make_bundle()), alias="live")
"""


def test_a_push_that_is_killed_leaves_nothing(store: str, registry: ModelRegistry):
    registry.push(files(0), alias="live")
    environment = {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", KILLED, store], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [(one.version, one.aliases) for one in registry.versions()] == [(1, ("live",))]
    assert registry.push(files(1)).version == 2


def test_models_and_decisions_share_a_store(store: str, registry: ModelRegistry):
    with DecisionLog(store) as log:
        log.add(sample())
        registry.push(files())
        assert log.recent()[0].pod_name == "pod-0"
    assert len(registry.versions()) == 1


def test_a_content_that_was_changed_in_the_store_is_refused(store: str, registry: ModelRegistry):
    pushed = registry.push(files())
    with connected(store) as connection:
        connection.execute(sa.text("UPDATE model_files SET data = :data"), {"data": b"another"})
    with pytest.raises(LongshoreError, match="holds another in its place"):
        registry.pull("sample", "1")
    with pytest.raises(LongshoreError, match="has lost the file"):
        registry.read_file("0" * 64)
    assert pushed.manifest.files == pushed.files


def test_reading_makes_nothing(tmp_path: Path):
    with pytest.raises(InputError, match="there is no store at"):
        ModelRegistry(str(tmp_path / "none.db"), is_read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_reading_sees_what_another_process_pushes(store: str, registry: ModelRegistry):
    with ModelRegistry(store, is_read_only=True) as reader:
        assert reader.versions() == []
        registry.push(files(), alias="live")
        assert reader.find("sample", "live").version == 1


def test_a_server_may_make_a_store_that_its_user_can_only_read_where_it_is_there_already(empty_database: str):
    with ModelRegistry(empty_database) as registry:
        registry.push(files(), alias="live")
    with connected(empty_database) as connection:
        connection.exec_driver_sql("CREATE ROLE reader LOGIN")
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    reader = empty_database.replace("//longshore@", "//reader@")
    with ModelRegistry(reader) as registry:
        assert registry.pull("sample", "live")[0].version == 1
        with pytest.raises(LongshoreError, match="permission denied"):
            registry.demote("sample", "live")


def test_a_decision_log_of_the_first_version_holds_no_models(tmp_path: Path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER)")
        connection.execute("INSERT INTO schema_version VALUES (1)")
    connection.close()
    with pytest.raises(InputError, match="holds no models"):
        ModelRegistry(str(path), is_read_only=True)
