"""The database: one SQLite file in WAL mode, opened once, written by one transaction at a time.

    with database.write() as connection: …   BEGIN IMMEDIATE, commit at the end, rollback on any exception
    with database.read() as connection: …    BEGIN, one unchanging view of the data

Every transaction opens its own connection, in the thread that uses it. This leaves out the tables (`tables.py`) and how
they came to be (`migrations/`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from pathlib import Path
from types import TracebackType

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from core.errors import NotFoundError, StorageError
from storage.database_errors import storage_error
from storage.filter_mask import FilterMask
from storage.migrations import upgrade

logger = logging.getLogger(__name__)

FILE_NAME = "footnote.db"
OLDEST_SQLITE = (3, 40, 0)
# To show or hide a document of 250,000 segments takes one transaction of up to a minute.
BUSY_TIMEOUT_S = 120.0
_WAL_KEPT_BYTES = 16 << 20


def no_fault(point: str) -> None:
    """The fault hook of every real run: nothing happens. Tests pass one that kills the process at `point`."""


class Database:
    """The truth of one data folder.

    data_dir        made when it's missing
    busy_timeout_s  how long a write waits for another process before it gives up
    fault           called with a name at each step of a change; see `no_fault`
    raises          StorageError (no room, not writable, damaged, lost, old SQLite); NewerDatabaseError: nothing touched
    """

    def __init__(
        self, data_dir: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S, fault: Callable[[str], None] = no_fault
    ) -> None:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise StorageError(
                f"SQLite {sqlite3.sqlite_version} is too old; Footnote needs 3.40 or later: use a newer Python"
            )
        self.data_dir = Path(data_dir).absolute()
        self.path = self.data_dir / FILE_NAME
        self.fault = fault
        self.filter_mask = FilterMask()
        self._busy_timeout_s = busy_timeout_s
        self._write_lock = threading.Lock()
        self._writer: int | None = None
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            _refuse_lost(self.path)
        except OSError as error:
            raise storage_error(error, self.data_dir) from error
        self._engine = self._make_engine()
        self._anchor: sqlite3.Connection | None = None
        try:
            upgrade(self)
            self._anchor = self._open_anchor()
        except (OSError, sqlite3.Error) as error:
            raise storage_error(error, self.data_dir) from error

    @contextlib.contextmanager
    def write(self, step: str = "", *, foreign_keys: bool = True) -> Iterator[Connection]:
        """A transaction that sees no other writer. One inside another would wait for itself: RuntimeError.

        step          what it does, "job added": the name of its fault points, before its commit and after
        foreign_keys  False only where tables are rebuilt: dropping the old one would take its children with it
        """
        if self._writer == threading.get_ident():
            raise RuntimeError("a write transaction was begun inside another; pass the connection on instead")
        # Writers of this process queue here; SQLite's own waiting polls, and may let one starve.
        if not self._write_lock.acquire(timeout=self._busy_timeout_s):
            raise storage_error(_busy(), self.data_dir)
        self._writer = threading.get_ident()
        try:
            with self._transaction(write=True, foreign_keys=foreign_keys) as connection:
                yield connection
                if step:
                    self.fault(f"{step}: before commit")
        finally:
            self._writer = None
            self._write_lock.release()
        if step:
            self.fault(step)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        with self._transaction(write=False) as connection:
            yield connection

    def warm_filters(self) -> None:
        """Read what filters ask of segments now rather than when the first one asks."""
        with self.read() as connection:
            self.filter_mask.warm(connection)

    def close(self) -> None:
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None
        self._engine.dispose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self, *, write: bool, foreign_keys: bool = True) -> Iterator[Connection]:
        try:
            options = {"footnote_write": write, "footnote_foreign_keys": foreign_keys}
            opened = self._engine.connect().execution_options(**options)
            with opened as connection, connection.begin() as transaction:
                yield connection
                if not write:
                    transaction.rollback()  # a statement that changes something doesn't belong here
        except OverflowError:
            # Ids are whole numbers of 64 bits; what is larger is no id of anything.
            raise NotFoundError("there is nothing with so large a number; check the id") from None
        except DBAPIError as error:
            logger.warning("the database refused: %s", error.orig)
            if write:
                self._give_back_room()
            raise storage_error(error, self.data_dir) from error

    def _give_back_room(self) -> None:
        """On a full disk the WAL of what failed would go on taking up the room that the next try needs."""
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(self.path, timeout=0)) as connection,
        ):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _make_engine(self) -> Engine:
        engine = create_engine(
            URL.create("sqlite", database=str(self.path)),
            poolclass=NullPool,
            connect_args={"check_same_thread": True, "timeout": self._busy_timeout_s},
            json_serializer=partial(json.dumps, default=_plain),
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: object) -> None:
            connection.isolation_level = None  # the driver's own BEGIN would be a deferred one
            _prepare(connection, self._busy_timeout_s)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            options = connection.get_execution_options()
            write = options.get("footnote_write", True)
            if not options.get("footnote_foreign_keys", True):
                # SQLite ignores it inside a transaction. The connection is closed after this one.
                connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _open_anchor(self) -> sqlite3.Connection:
        """A connection that only stays open: without one, each last close would checkpoint and delete the WAL."""
        anchor = sqlite3.connect(self.path, timeout=self._busy_timeout_s, check_same_thread=False, isolation_level=None)
        try:
            _prepare(anchor, self._busy_timeout_s)
            _switch_to_wal(anchor, self._busy_timeout_s)
            # Opens the files behind the connection; a connection that has read nothing holds nothing.
            anchor.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            anchor.close()
            raise
        return anchor


def _refuse_lost(path: Path) -> None:
    """Files without their database aren't a new library: to begin one here would hide that something was lost."""
    if path.exists() and path.stat().st_size:
        return
    originals = path.parent / "originals"
    if any(originals.glob("[0-9a-f][0-9a-f]/*")):
        what = "is empty" if path.exists() else "is missing"
        raise StorageError(
            f"the database {FILE_NAME!r} in {path.parent.name!r} {what}, though the folder 'originals' beside it holds "
            "files: restore a backup into a new folder; or, without one, move 'originals' away and read it in anew "
            "(python cli.py ingest <its new place> --recursive)"
        )


def _prepare(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(busy_timeout_s * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    # FULL: a document that was reported as indexed also survives a power cut, for one fsync a commit.
    connection.execute("PRAGMA synchronous = FULL")
    # After one big change the WAL file shrinks again.
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT_BYTES}")
    connection.create_function("fold", 1, _fold, deterministic=True)


def _fold(text: str | None) -> str | None:
    """Case folded, for searches in names and titles; SQLite's own lower() knows ASCII only."""
    return text.casefold() if isinstance(text, str) else text


def _plain(value: object) -> object:
    """What json can't write by itself: other mappings, sets, and numbers of numpy."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r} can't be stored as JSON")


def _switch_to_wal(connection: sqlite3.Connection, timeout_s: float) -> None:
    """WAL is a property of the file. The switch doesn't wait for others by itself, hence the loop."""
    deadline = time.monotonic() + timeout_s
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _busy() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = "SQLITE_BUSY"
    return error
