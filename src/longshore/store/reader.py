"""Reading the decision log: newest first, by pod or by time. Any number of readers, while the writer writes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import sqlalchemy as sa

from longshore.core.words.decision import Decision
from longshore.core.words.errors import InputError, LongshoreError
from longshore.store.schema import (
    COLUMNS,
    DECISIONS,
    check_version,
    create_engine,
    read_version,
    store_name,
    store_url,
    wrap,
)


class DecisionReader:
    """A decision log, opened to be read; never creates or changes anything."""

    def __init__(self, store: str) -> None:
        """Take a file or URL, as `DecisionLog` does.

        Raises:
            InputError: there is no such file, or a newer longshore wrote it.
            LongshoreError: it cannot be read, or is no store.
        """
        self._url = store_url(store)
        is_sqlite = self._url.get_backend_name() == "sqlite"
        if is_sqlite and not Path(self._url.database or "").is_file():
            raise InputError(
                f"there is no decision log at `{store_name(self._url)}`", "`longshore schedule --store FILE` writes one"
            )
        self._engine = create_engine(self._url, is_read_only=True)
        with self._worded():
            version = read_version(self._engine)
        check_version(self._url, version)
        if version == 0:
            raise InputError(f"`{store_name(self._url)}` is no decision log", "give the FILE of `--store`")

    def recent(self, n: int = 20) -> list[Decision]:
        """Return the newest decisions, newest first."""
        return self.query(limit=n)

    def query(
        self,
        *,
        pod: str | None = None,
        since_us: int | None = None,
        node: str | None = None,
        limit: int = 1000,
    ) -> list[Decision]:
        """Return decisions, newest first.

        Args:
            pod: `namespace/name`; None = all.
            since_us: microseconds since 1970; only what was decided at that time or after it.
            node: only placements on this node.
            limit: at most so many.

        Raises:
            LongshoreError: the store cannot be read.
        """
        select = sa.select(DECISIONS).order_by(DECISIONS.c.time_us.desc(), DECISIONS.c.id.desc()).limit(limit)
        if pod is not None:
            namespace, separator, name = pod.partition("/")
            if not separator:
                raise InputError(f"got the pod `{pod}`, expected `namespace/name`", f"for instance `default/{pod}`")
            select = select.where(DECISIONS.c.pod_namespace == namespace, DECISIONS.c.pod_name == name)
        if since_us is not None:
            select = select.where(DECISIONS.c.time_us >= since_us)
        if node is not None:
            select = select.where(DECISIONS.c.node == node)
        with self._worded(), self._engine.connect() as connection:
            rows = connection.execute(select).all()
            return [msgspec.convert(dict(zip(COLUMNS, row, strict=True)), Decision) for row in rows]

    def count(self) -> int:
        """Return how many decisions there are.

        Raises:
            LongshoreError: the store cannot be read.
        """
        with self._worded(), self._engine.connect() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(DECISIONS)).scalar_one()

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            raise wrap(self._url, error) from error
        except msgspec.ValidationError as error:
            raise LongshoreError(f"cannot read the store `{store_name(self._url)}`: {error}") from error
