"""The tables of the store, the steps by which older files are brought up to date, and how a store is opened.

Only SQLAlchemy Core, and only what SQLite and PostgreSQL share, so that the address alone chooses the database. Used by
`decisions.py`, which writes, by `reader.py`, and by `models.py`.
"""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from longshore.core.words.decision import Decision
from longshore.core.words.errors import InputError, LongshoreError
from longshore.store.location import default_store

METADATA = sa.MetaData()

SCHEMA_VERSION = sa.Table("schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))

DECISIONS = sa.Table(
    "decisions",
    METADATA,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("time_us", sa.BigInteger, nullable=False),
    sa.Column("mode", sa.String(16), nullable=False),
    sa.Column("cluster", sa.Text, nullable=False),
    sa.Column("pod_namespace", sa.Text, nullable=False),
    sa.Column("pod_name", sa.Text, nullable=False),
    sa.Column("pod_uid", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("policy_version", sa.Text, nullable=False),
    sa.Column("scheduler_name", sa.Text, nullable=False),
    sa.Column("node", sa.Text),
    sa.Column("runner_up", sa.Text),
    sa.Column("score", sa.Double),
    sa.Column("num_nodes", sa.Integer, nullable=False),
    sa.Column("num_feasible", sa.Integer, nullable=False),
    sa.Column("candidates", sa.JSON, nullable=False),
    sa.Column("terms", sa.JSON, nullable=False),
    sa.Column("reasons", sa.JSON, nullable=False),
    sa.Column("pending_reason", sa.Text),
    sa.Column("fallback_reason", sa.Text),
    sa.Column("latency_us", sa.BigInteger),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(16)),
    sa.Column("outcome_message", sa.Text),
    sa.Column("bind_us", sa.BigInteger),
    sa.Index("decisions_by_time", "time_us"),
    sa.Index("decisions_by_pod", "pod_namespace", "pod_name", "time_us"),
)
"""One row per decision; the columns are fields of `words.decision.Decision`, a test says so."""

COLUMNS = tuple(str(column.name) for column in DECISIONS.columns)


def row_of(decision: Decision) -> dict[str, Any]:
    """Return what the log keeps of a decision, by column."""
    return {name: getattr(decision, name) for name in COLUMNS}


MODEL_FILES = sa.Table(
    "model_files",
    METADATA,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""The bytes of models' files, each content once, whatever the number of versions that have it."""

MODEL_VERSIONS = sa.Table(
    "model_versions",
    METADATA,
    sa.Column("name", sa.String(63), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time_us", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("objective", sa.Text, nullable=False),
    sa.Column("files", sa.JSON, nullable=False),
    sa.UniqueConstraint("name", "digest"),
)
"""One row per version; `files` says which contents are its files, `digest` is a digest of that."""

MODEL_ALIASES = sa.Table(
    "model_aliases",
    METADATA,
    sa.Column("name", sa.String(63), primary_key=True),
    sa.Column("alias", sa.String(63), primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("time_us", sa.BigInteger, nullable=False),
    sa.ForeignKeyConstraint(["name", "version"], ["model_versions.name", "model_versions.version"]),
)
"""Which version a name such as `live` stands for."""


def _first_tables(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[SCHEMA_VERSION, DECISIONS])


def _model_tables(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[MODEL_FILES, MODEL_VERSIONS, MODEL_ALIASES])


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_first_tables, _model_tables)
"""Step n brings a store from version n to n + 1. A released step is never changed: a new one is added."""

LOCK_WAIT_SECONDS = 2.0
"""How long a writer waits for another before it gives up and tries again later."""


def store_url(text: str) -> sa.URL:
    """Read the address of a store: a URL such as `postgresql+psycopg://host/name`, or the path of a SQLite file.

    Raises:
        InputError: neither.
    """
    if not text.strip():
        raise InputError("got an empty address of a store", "give a file such as `decisions.db`")
    if "://" not in text:
        return sa.URL.create("sqlite", database=text)
    try:
        return sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:  # a port that is no number is a ValueError
        scheme = text.partition("://")[0]  # not the rest: a password may be in it
        raise InputError(
            f"got a store that begins with `{scheme}://` and is no address, expected a file or a URL",
            "`decisions.db`, or `postgresql+psycopg://host/name`",
        ) from error


def store_name(url: sa.URL) -> str:
    """Name a store in messages, without its password."""
    return url.database or "" if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def create_engine(
    url: sa.URL, *, is_read_only: bool = False, lock_wait_seconds: float = LOCK_WAIT_SECONDS
) -> sa.Engine:
    """Return an engine; nothing is opened before its first use.

    Raises:
        LongshoreError: the driver of that database is not installed.
    """
    settings: dict[str, Any] = {
        "json_serializer": _encode,
        "json_deserializer": msgspec.json.decode,
        "pool_pre_ping": True,  # a server that was restarted is not an error
    }
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite:
        settings["connect_args"] = {"timeout": lock_wait_seconds}
        settings["poolclass"] = sa.NullPool  # a connection stays with its thread, and none is left open
    if is_sqlite and is_read_only:
        path = Path(url.database or "").absolute()
        settings["creator"] = lambda: sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=lock_wait_seconds)
    try:
        engine = sa.create_engine(url, **settings)
    except (ModuleNotFoundError, sa.exc.NoSuchModuleError) as error:
        raise LongshoreError(
            f"the store `{store_name(url)}` needs a driver that is not installed: {error}",
            "install the database's Python driver, or give a file: that is SQLite, and needs none",
        ) from error
    if is_sqlite and not is_read_only:
        sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def migrate(engine: sa.Engine) -> None:
    """Create the tables or bring older ones up to date; several processes may do this at the same time.

    Raises:
        InputError: a newer longshore wrote it.
    """
    with engine.connect() as connection:
        if _version(connection) == len(MIGRATIONS):
            return  # the usual case needs no lock
    with engine.connect() as connection:
        lock(connection)  # before the version is read, so that two cannot both migrate
        version = _version(connection)
        check_version(engine.url, version)
        for step in MIGRATIONS[version:]:
            step(connection)
        connection.execute(sa.delete(SCHEMA_VERSION))
        connection.execute(sa.insert(SCHEMA_VERSION).values(version=len(MIGRATIONS)))
        connection.commit()


def lock(connection: sa.Connection) -> None:
    """Begin a transaction that no other one of this kind runs beside: what it reads stays true until it ends."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7015310)"))


def check_version(url: sa.URL, version: int) -> None:
    """Refuse a store that is newer than this code.

    Raises:
        InputError: it is.
    """
    if version > len(MIGRATIONS):
        raise InputError(
            f"the store `{store_name(url)}` has schema version {version}, this longshore knows up to {len(MIGRATIONS)}",
            "update longshore, or give another file",
        )


def read_version(engine: sa.Engine) -> int:
    """Return the version of a store; 0 = it has no tables of ours."""
    with engine.connect() as connection:
        return _version(connection)


def check_store(text: str) -> None:
    """Open a store for writing as the log would, to say at the start of a process what is wrong with it.

    The folder of the default store is made; one that the user names must be there, since it may be mistyped.

    Raises:
        LongshoreError: it cannot be opened or written, is no store, or is newer than this code.
    """
    url = store_url(text)
    if text == str(default_store()):
        with contextlib.suppress(OSError):  # SQLite then says why it cannot write there
            default_store().parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url)
    try:
        migrate(engine)
        with engine.connect() as connection:  # a file that may only be read fails here and not at the first decision
            connection.execute(sa.update(SCHEMA_VERSION).values(version=SCHEMA_VERSION.c.version))
    except sa.exc.SQLAlchemyError as error:
        raise wrap(url, error) from error
    finally:
        engine.dispose()


def wrap(url: sa.URL, error: sa.exc.SQLAlchemyError) -> LongshoreError:
    """Word a database's error for the user."""
    return LongshoreError(
        f"cannot use the store `{store_name(url)}`: {reason_of(error)}",
        "give a file in a folder that you may write to; an existing file must be a store of longshore's",
    )


def reason_of(error: Exception) -> str:
    """Return what the database said, without the statement and the addresses that SQLAlchemy adds."""
    said = getattr(error, "orig", None) or error
    return str(said).strip().splitlines()[0] if str(said).strip() else type(said).__name__


def _version(connection: sa.Connection) -> int:
    if not sa.inspect(connection).has_table(SCHEMA_VERSION.name):
        return 0
    return connection.execute(sa.select(SCHEMA_VERSION.c.version)).scalar() or 0


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    with contextlib.closing(connection.cursor()) as cursor:
        # Readers never wait for the writer, and a killed writer leaves a file that reads. NORMAL: the last moments
        # before a power cut may be lost, the file is whole all the same; FULL costs an fsync for every batch.
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
