"""The decision log: every decision is kept, and keeping it never disturbs the one who decides.

`add` puts a record into a bounded ring and returns; a thread of its own writes the ring to the store in batches. What
goes wrong there (a full disk, a locked or broken file, a database that is away) is logged once a minute and tried
again; when the ring is full the oldest records go, and are counted. Every mode writes by this class.
"""

import itertools
import logging
import secrets
import threading
import time
from collections import deque
from typing import Any

import msgspec
import sqlalchemy as sa

from longshore.core.words.decision import BindOutcome, Decision, OutcomeKind
from longshore.core.words.errors import LongshoreError
from longshore.store.reader import DecisionReader
from longshore.store.schema import DECISIONS, create_engine, migrate, reason_of, row_of, store_name, store_url

LOGGER = logging.getLogger(__name__)

RING_SIZE = 10_000
BATCH_SIZE = 500
BATCH_SECONDS = 0.5
ROWS_PER_STATEMENT = 100
"""A statement's rows are prepared while no other thread runs, so that this bounds how long a decision waits for it."""
RETRY_SECONDS = 1.0
REPORT_SECONDS = 60.0
KEPT_ROWS = 1_000_000
"""Older decisions are deleted (so many are about 0.5 GB): a store that only grows ends by filling the disk."""
PRUNE_EVERY_ROWS = 10_000


class DecisionLog:
    """A store of decisions, opened to be written by one process; other processes may write to the same store."""

    def __init__(self, store: str, *, ring_size: int = RING_SIZE, kept_rows: int = KEPT_ROWS) -> None:
        """Take a file (SQLite) or a URL; nothing is opened here. `schema.check_store` says what is wrong with one.

        Raises:
            LongshoreError: the text is no address, or the driver of that database is not installed.
        """
        self.url = store_url(store)
        self._store = store
        self._engine = create_engine(self.url)
        self._ring_size = ring_size
        self._kept_rows = kept_rows
        self._ring: deque[Decision | BindOutcome] = deque()
        self._changed = threading.Condition()
        self._id_prefix = secrets.token_hex(6)
        self._id_numbers = itertools.count()  # safe from several threads, as a generator is not
        self._num_dropped = 0
        self._num_written = 0
        self._num_unpruned = 0
        self._writing = 0
        self._num_failures = 0
        self._is_closing = False
        self._is_flush_wanted = False
        self._is_migrated = False
        self._reported_at = -REPORT_SECONDS
        self._thread = threading.Thread(target=self._run, name="decision-log", daemon=True)
        self._thread.start()

    @property
    def num_dropped(self) -> int:
        """Records and outcomes that were lost since the start."""
        return self._num_dropped

    @property
    def num_written(self) -> int:
        """Records that are in the store."""
        return self._num_written

    def add(self, record: Decision) -> str:
        """Take a record to be written soon; return its id. Never waits for the store, never raises."""
        if not record.id:
            record = msgspec.structs.replace(record, id=f"{self._id_prefix}-{next(self._id_numbers):x}")
        self._put(record)
        return record.id

    def set_outcome(
        self, record_id: str, outcome: OutcomeKind, message: str | None = None, bind_us: int | None = None
    ) -> None:
        """Say what came of a decision's binding. Never waits for the store, never raises."""
        self._put(BindOutcome(record_id, outcome, message, bind_us))

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until all that was added is written; False = it was not in that time, or the store failed."""
        with self._changed:
            self._is_flush_wanted = True
            self._changed.notify_all()
            failures = self._num_failures
            done = self._changed.wait_for(
                lambda: not (self._ring or self._writing) or self._num_failures > failures, timeout_seconds
            )
            return done and self._num_failures == failures

    def close(self, timeout_seconds: float = 10.0) -> None:
        """Write what is left and stop; what cannot be written counts as dropped."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(timeout_seconds)
        self._engine.dispose()

    def recent(self, n: int = 20) -> list[Decision]:
        """Return the newest decisions, newest first, those just added included.

        Raises:
            LongshoreError: the store cannot be read.
        """
        return self.query(limit=n)

    def query(
        self, *, pod: str | None = None, since_us: int | None = None, node: str | None = None, limit: int = 1000
    ) -> list[Decision]:
        """Return decisions as `DecisionReader.query` does, those just added included.

        Raises:
            LongshoreError: the store cannot be read.
        """
        self.flush()
        reader = DecisionReader(self._store)
        try:
            return reader.query(pod=pod, since_us=since_us, node=node, limit=limit)
        finally:
            reader.close()

    def __enter__(self) -> "DecisionLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, item: Decision | BindOutcome) -> None:
        with self._changed:
            if self._is_closing:
                self._num_dropped += 1
                return
            if len(self._ring) >= self._ring_size:
                self._ring.popleft()
                self._num_dropped += 1
            self._ring.append(item)
            if len(self._ring) == BATCH_SIZE:  # waking the thread for every record would cost more than the record
                self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_time_to_write, BATCH_SECONDS)
                batch = [self._ring.popleft() for _ in range(min(BATCH_SIZE, len(self._ring)))]
                self._writing = len(batch)
                self._is_flush_wanted = self._is_flush_wanted and bool(batch)
                if not batch and self._is_closing:
                    return
            if batch and not self._write(batch):
                self._wait_after_failure()

    def _is_time_to_write(self) -> bool:
        return len(self._ring) >= BATCH_SIZE or self._is_closing or self._is_flush_wanted

    def _write(self, batch: list[Decision | BindOutcome]) -> bool:
        """Write a batch; return False after putting it back, where the store failed and may work later."""
        try:
            self._write_all(batch)
            num_lost = 0
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the thread must live on
            self._report(error)
            if _may_work_later(error):
                self._is_migrated = False  # it may be another file by then
                self._put_back(batch)
                return False
            num_lost = self._write_singly(batch)
        with self._changed:
            self._writing = 0
            self._num_dropped += num_lost
            self._changed.notify_all()
        return True

    def _write_all(self, batch: list[Decision | BindOutcome]) -> None:
        if not self._is_migrated:
            migrate(self._engine)
            self._is_migrated = True
        rows, updates = _rows(batch)
        with self._engine.begin() as connection:
            for start in range(0, len(rows), ROWS_PER_STATEMENT):
                connection.execute(_INSERT, rows[start : start + ROWS_PER_STATEMENT])
            if updates:
                connection.execute(_UPDATE, updates)
            is_time_to_prune = self._num_unpruned + len(rows) >= PRUNE_EVERY_ROWS
            if is_time_to_prune:
                connection.execute(_prune(self._kept_rows))
        self._num_unpruned = 0 if is_time_to_prune else self._num_unpruned + len(rows)
        self._num_written += len(rows)

    def _write_singly(self, batch: list[Decision | BindOutcome]) -> int:
        """Write what can be written of a batch that the database refused; return how many were lost."""
        num_lost = 0
        for item in batch:
            try:
                self._write_all([item])
            except Exception as error:  # noqa: BLE001 - as above
                self._report(error)
                num_lost += 1
        return num_lost

    def _put_back(self, batch: list[Decision | BindOutcome]) -> None:
        with self._changed:
            room = 0 if self._is_closing else self._ring_size - len(self._ring)
            kept = batch[len(batch) - min(room, len(batch)) :]
            self._num_dropped += len(batch) - len(kept)
            self._ring.extendleft(reversed(kept))
            self._writing = 0
            self._num_failures += 1
            if self._is_closing:
                self._num_dropped += len(self._ring)
                self._ring.clear()
            self._changed.notify_all()

    def _wait_after_failure(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, RETRY_SECONDS)

    def _report(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._reported_at < REPORT_SECONDS:
            return
        self._reported_at = now
        LOGGER.warning(
            "decision log: cannot write store=%s reason=%r dropped=%d",
            store_name(self.url),
            reason_of(error),
            self._num_dropped,
        )


def _may_work_later(error: Exception) -> bool:
    """Tell a store that is locked, full, broken or away from a record that the database will never take."""
    if isinstance(error, sa.exc.DatabaseError):
        refusals = (sa.exc.DataError, sa.exc.IntegrityError, sa.exc.ProgrammingError)
        return not isinstance(error, refusals)
    return isinstance(error, LongshoreError | OSError)


_INSERT = sa.insert(DECISIONS)
_UPDATE = (
    sa.update(DECISIONS)
    .where(DECISIONS.c.id == sa.bindparam("record_id"))
    .values({name: sa.bindparam(f"new_{name}") for name in ("outcome", "outcome_message", "bind_us")})
)


def _rows(batch: list[Decision | BindOutcome]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows to insert and those to change; an outcome that came in time goes into its row at once."""
    rows: dict[str, dict[str, Any]] = {}
    updates = []
    for item in batch:
        if isinstance(item, Decision):
            rows[item.id] = row_of(item)
        elif item.id in rows:
            rows[item.id].update(msgspec.structs.asdict(item))
        else:
            changed = msgspec.structs.asdict(item)
            updates.append(
                {"record_id": changed.pop("id"), **{f"new_{name}": value for name, value in changed.items()}}
            )
    return list(rows.values()), updates


def _prune(kept_rows: int) -> sa.Delete:
    newest = sa.select(DECISIONS.c.time_us).order_by(DECISIONS.c.time_us.desc()).offset(kept_rows).limit(1)
    return sa.delete(DECISIONS).where(DECISIONS.c.time_us <= newest.scalar_subquery())
