"""A PostgreSQL of the tests' own: in a folder of its own, on a socket of its own, gone afterwards."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGES = "apt-get install postgresql"


def program(name: str) -> Path | None:
    """Find one of PostgreSQL's programs, which Debian keeps off the path."""
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    return None if found is None else Path(found)


@contextlib.contextmanager
def running_postgres() -> Iterator[str]:
    """Give the address of an empty database."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    assert initdb is not None
    assert pg_ctl is not None
    owner = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="longshore-postgres-"))
    if owner is not None:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, user=owner, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    try:
        run(str(initdb), "-D", data, "-A", "trust", "-U", "longshore", "--no-sync", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(str(pg_ctl), "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://longshore@/postgres?host={folder}"
        finally:
            run(str(pg_ctl), "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(require_component: Callable[[str, str, bool], None]) -> Iterator[str]:
    """Give a database server's address, for the whole session: use a database of your own."""
    require_component("PostgreSQL", PACKAGES, program("initdb") is not None)
    require_component("psycopg", "make setup", importlib.util.find_spec("psycopg") is not None)
    with running_postgres() as address:
        yield address


@pytest.fixture
def empty_database(postgres: str) -> str:
    """Give the address of a new database."""
    import sqlalchemy as sa

    name = f"test_{uuid.uuid4().hex[:8]}"
    engine = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return postgres.replace("/postgres?", f"/{name}?")
