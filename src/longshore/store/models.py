"""The registry of models: bundles by name and version beside the decision log, and aliases such as `live`.

A version is never changed: a file's bytes are kept under their SHA-256, once, and pushing what is there already gives
the version that it has. An alias stands for one version and can be moved, also back, and taken away. A version that no
alias stands for can be deleted; its number is not given again. Several processes may push at the same time: each gets a
version of its own.
"""

import contextlib
import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import sqlalchemy as sa

from longshore.core.network.bundle_files import CARD_FILE, MAX_POLICY_BYTES, POLICY_FILE, WEIGHTS_FILE, read_bundle
from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore.store.location import default_store
from longshore.store.schema import (
    MODEL_ALIASES,
    MODEL_FILES,
    MODEL_VERSIONS,
    check_version,
    create_engine,
    lock,
    migrate,
    read_version,
    store_name,
    store_url,
    wrap,
)

MANIFEST_FILE = "manifest.json"
"""What a version is made of, for those who fetch it over HTTP."""
LIVE = "live"
"""The alias that is meant for what schedules."""
_NAME, _LONGEST_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?"), 63
"""Of models and aliases: they are parts of addresses and of paths."""
_LOCK_WAIT_SECONDS = 60.0
"""Nobody is scheduled by who pushes: waiting for another's push is better than giving up."""
_HAS_MODELS = 2
"""The first version of the tables that has some for models."""
_DELETED = "deleted "
"""What the digest of a deleted version begins with. Its row stays: what was version 2 once is never another bundle."""
_MOST_NUMBERS = 8
"""A message names so many versions at most."""


class StoredFile(msgspec.Struct, frozen=True):
    """A file's content."""

    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True):
    """What a version is made of; the plugin reads it (`scheduler/longshore/registry.go`)."""

    name: str
    version: int
    files: dict[str, StoredFile]
    schema: int = 1


class ModelVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a model."""

    name: str
    version: int
    time_us: int
    objective: str
    files: dict[str, StoredFile]
    aliases: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The SHA-256 of its policy.json, which names that of the weights: what metrics and decision log say."""
        return self.files[POLICY_FILE].sha256

    @property
    def manifest(self) -> Manifest:
        """What it is made of."""
        return Manifest(self.name, self.version, self.files)


class ModelRegistry:
    """A store of models; safe to use from several threads."""

    def __init__(self, store: str, *, is_read_only: bool = False, may_make: bool = True) -> None:
        """Open a file (SQLite) or a URL.

        Args:
            store: where it is.
            is_read_only: nothing is written, and there must be a store.
            may_make: one that is missing is made; False = there must be one, as its address may be mistyped.

        Raises:
            InputError: there is none, it holds no models yet, or a newer longshore wrote it.
            LongshoreError: it cannot be opened, or is no store.
        """
        self._url = store_url(store)
        must_be_there = is_read_only or not may_make
        if must_be_there:
            self._check_there()
        elif store == str(default_store()):
            with contextlib.suppress(OSError):  # SQLite then says why it cannot write there
                default_store().parent.mkdir(parents=True, exist_ok=True)
        self._engine = create_engine(self._url, is_read_only=is_read_only, lock_wait_seconds=_LOCK_WAIT_SECONDS)
        with self._worded():
            if not must_be_there:
                migrate(self._engine)
                return
            version = read_version(self._engine)
        check_version(self._url, version)
        if version < _HAS_MODELS:
            raise self._empty()

    def push(self, files: Mapping[str, bytes], *, name: str | None = None, alias: str | None = None) -> ModelVersion:
        """Keep a bundle; what was pushed before under this name has its version already.

        Args:
            files: by name, as `policies.bundle_folder.read_files` gives them.
            name: of the model; None = what the policy is called.
            alias: moved to this version in the same step.

        Raises:
            InputError: the bundle is refused, or a name is none.
            LongshoreError: the store cannot be written.
        """
        policy = read_bundle(files)
        _check_files(files)
        name = policy.name if name is None else name
        check_name("name", name)
        stored = {file: StoredFile(_sha256(data), len(data)) for file, data in sorted(files.items())}
        with self._worded(), self._engine.connect() as connection:
            lock(connection)
            version = _find_content(connection, name, stored)
            if version is None:
                version = _add(connection, name, policy.objective, stored, files)
            if alias is not None:
                _move(connection, name, alias, version)
            connection.commit()
        return self.find(name, str(version))

    def versions(self, name: str | None = None) -> list[ModelVersion]:
        """Return all versions, or those of one model: by name, the newest first."""
        with self._worded(), self._engine.connect() as connection:
            return _versions(connection, name)

    def find(self, name: str, which: str) -> ModelVersion:
        """Return a version by its number or by an alias.

        Raises:
            InputError: there is no such model, version or alias.
        """
        with self._worded(), self._engine.connect() as connection:
            return _find(connection, name, which)

    def promote(self, name: str, which: str, alias: str = LIVE) -> tuple[ModelVersion, int | None]:
        """Let an alias stand for a version, an older one too; return it, and the version that it stood for before.

        Raises:
            InputError: there is no such model or version, or the alias is none.
            LongshoreError: the store cannot be written.
        """
        with self._worded(), self._engine.connect() as connection:
            lock(connection)  # before it is looked for: nobody deletes it in between
            version = _find(connection, name, which).version
            before = _move(connection, name, alias, version)
            found = _find(connection, name, str(version))
            connection.commit()
        return found, before

    def demote(self, name: str, alias: str) -> ModelVersion:
        """Take an alias away; return the version that it stood for, as it is now.

        Raises:
            InputError: there is no such model or alias.
            LongshoreError: the store cannot be written.
        """
        with self._worded(), self._engine.connect() as connection:
            lock(connection)
            found = _find(connection, name, alias)
            if alias not in found.aliases:
                raise InputError(
                    f"got `{alias}`, which is a version of `{name}`, expected an alias such as `{LIVE}`",
                    f"`longshore models delete {name} {alias}` forgets a version",
                )
            is_it = (MODEL_ALIASES.c.name == name, MODEL_ALIASES.c.alias == alias)
            connection.execute(sa.delete(MODEL_ALIASES).where(*is_it))
            found = _find(connection, name, str(found.version))
            connection.commit()
        return found

    def delete(self, name: str, which: str) -> ModelVersion:
        """Forget a version that no alias stands for, and the files that no other version has; return what it was.

        Raises:
            InputError: there is no such version, or an alias stands for it.
            LongshoreError: the store cannot be written.
        """
        with self._worded(), self._engine.connect() as connection:
            lock(connection)
            found = _find(connection, name, which)
            if found.aliases:
                names = ", ".join(f"`{alias}`" for alias in found.aliases)
                raise InputError(
                    f"version {found.version} of `{name}` has the alias {names}: schedulers that take the model by "
                    "that name would get nothing; expected a version without an alias",
                    f"first `longshore models promote {name} OTHER --alias {found.aliases[0]}`, or `longshore models "
                    f"demote {name} {found.aliases[0]}`",
                )
            _forget(connection, found)
            connection.commit()
        return found

    def read_file(self, sha256: str) -> bytes:
        """Return a content.

        Raises:
            LongshoreError: it is not there, or not what it was.
        """
        select = sa.select(MODEL_FILES.c.data).where(MODEL_FILES.c.sha256 == sha256)
        with self._worded(), self._engine.connect() as connection:
            data = connection.execute(select).scalar()
        if data is None or _sha256(data) != sha256:
            raise LongshoreError(
                f"the store `{store_name(self._url)}` has lost the file {sha256:.12}, or holds another in its place",
                "ask again if its version was deleted just now; else push the bundle into a new store",
            )
        return bytes(data)

    def pull(self, name: str, which: str) -> tuple[ModelVersion, dict[str, bytes]]:
        """Return a version and its files, checked as every bundle is.

        Raises:
            InputError: there is no such version, or this release refuses it.
            LongshoreError: the store cannot be read.
        """
        found = self.find(name, which)
        files = {file: self.read_file(stored.sha256) for file, stored in found.files.items()}
        read_bundle(files)
        return found, files

    def close(self) -> None:
        """Let go of the store."""
        self._engine.dispose()

    def __enter__(self) -> "ModelRegistry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_there(self) -> None:
        if self._url.get_backend_name() == "sqlite" and not Path(self._url.database or "").is_file():
            raise InputError(
                f"there is no store at `{store_name(self._url)}`",
                "`longshore models push FOLDER --store FILE` makes one",
            )

    def _empty(self) -> InputError:
        return InputError(
            f"`{store_name(self._url)}` holds no models", "`longshore models push FOLDER --store STORE` puts one there"
        )

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            raise wrap(self._url, error) from error


def check_name(what: str, name: str) -> None:
    """Refuse what cannot be the name of a model or an alias.

    Raises:
        InputError: small letters, digits, `.`, `_` and `-` are allowed; an alias is no number.
    """
    is_number = what == "alias" and name.isdigit()
    if not _is_name(name) or is_number:
        also = ", and not a number alone" if what == "alias" else ""
        raise InputError(
            f"got the {what} `{name}`, expected small letters, digits, `.`, `_` and `-`, at most {_LONGEST_NAME}{also}",
            "`--alias live`" if what == "alias" else "give one by `--name`, such as `el-rl`",
        )


def _is_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _check_files(files: Mapping[str, bytes]) -> None:
    """Refuse what a bundle does not have; the limits of the other files are `read_bundle`'s."""
    known = (POLICY_FILE, WEIGHTS_FILE, CARD_FILE)
    for file in files:
        if file not in known:
            raise InputError(f"got the file `{file}`, expected only {', '.join(known)}", "leave it out")
    if (size := len(files.get(CARD_FILE, b""))) > MAX_POLICY_BYTES:
        raise InputError(f"`{CARD_FILE}` has {size} bytes, expected at most {MAX_POLICY_BYTES}", "shorten it")


def _versions(connection: sa.Connection, name: str | None = None) -> list[ModelVersion]:
    is_alias = (MODEL_ALIASES.c.name == MODEL_VERSIONS.c.name) & (MODEL_ALIASES.c.version == MODEL_VERSIONS.c.version)
    # One statement: an alias that moves meanwhile is seen at the version before or after, never at none.
    select = (
        sa.select(MODEL_VERSIONS, MODEL_ALIASES.c.alias)
        .outerjoin(MODEL_ALIASES, is_alias)
        .where(MODEL_VERSIONS.c.digest.not_like(f"{_DELETED}%"))
        .order_by(MODEL_VERSIONS.c.name, MODEL_VERSIONS.c.version.desc(), MODEL_ALIASES.c.alias)
    )
    if name is not None:
        select = select.where(MODEL_VERSIONS.c.name == name)
    rows: dict[tuple[str, int], sa.RowMapping] = {}
    aliases: dict[tuple[str, int], list[str]] = {}
    for row in connection.execute(select).mappings():
        key = (row["name"], row["version"])
        rows[key] = row
        aliases.setdefault(key, []).extend([row["alias"]] if row["alias"] is not None else [])
    return [_version(row, aliases[key]) for key, row in rows.items()]


def _find(connection: sa.Connection, name: str, which: str) -> ModelVersion:
    # What is no name is not looked up: a database refuses some characters with an error of its own.
    versions = _versions(connection, name) if _is_name(name) else []
    if not versions:
        raise UnknownNameError("model", name, sorted({one.name for one in _versions(connection)}))
    for one in versions:
        if which == str(one.version) or which in one.aliases:
            return one
    known = [str(one.version) for one in versions[:_MOST_NUMBERS]]
    if len(versions) > _MOST_NUMBERS:
        known.append(f"{len(versions) - _MOST_NUMBERS} older ones")
    known += sorted(f"`{alias}`" for one in versions for alias in one.aliases)
    raise InputError(
        f"model `{name}` has no version or alias `{which}`, expected one of: {', '.join(known)}",
        "`longshore models list --store STORE` shows all",
    )


def _forget(connection: sa.Connection, found: ModelVersion) -> None:
    is_it = (MODEL_VERSIONS.c.name == found.name, MODEL_VERSIONS.c.version == found.version)
    gone = {"digest": f"{_DELETED}{found.version}", "files": {}, "time_us": _now_us()}
    connection.execute(sa.update(MODEL_VERSIONS).where(*is_it).values(gone))
    kept = {stored.sha256 for one in _versions(connection) for stored in one.files.values()}
    lost = sorted({stored.sha256 for stored in found.files.values()} - kept)
    connection.execute(sa.delete(MODEL_FILES).where(MODEL_FILES.c.sha256.in_(lost)))


def _find_content(connection: sa.Connection, name: str, stored: Mapping[str, StoredFile]) -> int | None:
    select = sa.select(MODEL_VERSIONS.c.version).where(
        MODEL_VERSIONS.c.name == name, MODEL_VERSIONS.c.digest == _digest(stored)
    )
    return connection.execute(select).scalar()


def _add(
    connection: sa.Connection,
    name: str,
    objective: str,
    stored: Mapping[str, StoredFile],
    files: Mapping[str, bytes],
) -> int:
    for file, one in stored.items():
        if connection.execute(sa.select(MODEL_FILES.c.size).where(MODEL_FILES.c.sha256 == one.sha256)).first() is None:
            row = {"sha256": one.sha256, "size": one.size, "data": files[file]}
            connection.execute(sa.insert(MODEL_FILES).values(row))
    last = connection.execute(sa.select(sa.func.max(MODEL_VERSIONS.c.version)).where(MODEL_VERSIONS.c.name == name))
    version = (last.scalar() or 0) + 1
    connection.execute(
        sa.insert(MODEL_VERSIONS).values(
            name=name,
            version=version,
            time_us=_now_us(),
            digest=_digest(stored),
            objective=objective,
            files=dict(stored),
        )
    )
    return version


def _move(connection: sa.Connection, name: str, alias: str, version: int) -> int | None:
    """Let an alias stand for a version; return the one that it stood for."""
    check_name("alias", alias)
    is_it = (MODEL_ALIASES.c.name == name, MODEL_ALIASES.c.alias == alias)
    before = connection.execute(sa.select(MODEL_ALIASES.c.version).where(*is_it)).scalar()
    connection.execute(sa.delete(MODEL_ALIASES).where(*is_it))
    connection.execute(sa.insert(MODEL_ALIASES).values(name=name, alias=alias, version=version, time_us=_now_us()))
    return before


def _version(row: sa.RowMapping, aliases: list[str]) -> ModelVersion:
    known = {name: row[name] for name in ("name", "version", "time_us", "objective", "files")}
    return msgspec.convert({**known, "aliases": aliases}, ModelVersion)


def _digest(stored: Mapping[str, StoredFile]) -> str:
    return _sha256("".join(f"{one.sha256} {one.size} {file}\n" for file, one in sorted(stored.items())).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _now_us() -> int:
    return time.time_ns() // 1000
