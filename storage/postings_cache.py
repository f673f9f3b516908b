"""The keyword postings of one store in memory, kept in step with SQLite by the generation number."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

from sqlalchemy import Connection, Row, bindparam, func, select

from core.text.postings import Postings
from storage.database import Database
from storage.database_errors import storage_error
from storage.generation import Generation, changes_since, current
from storage.lookups import ASKED, rows_of
from storage.postings_file import postings_path, read_postings, write_postings
from storage.tables import DOCUMENT_STORE, is_visible, segments

logger = logging.getLogger(__name__)

# So many changes are worth writing the file while the app runs; else it's written when the index is closed.
WRITE_EVERY = 20_000
_LITTLE = 100  # a hundredth of all segments


class PostingsCache:
    """Thread-safe. A snapshot that was given out never changes."""

    def __init__(self, database: Database, *, store: str) -> None:
        self.path = postings_path(database.data_dir, store)
        self._database = database
        self._store = store
        self._lock = threading.Lock()
        self._state: tuple[Postings, Generation] | None = None
        self._unwritten = 0

    def up_to_date(self, connection: Connection) -> Postings:
        """The postings at the generation of a transaction that has read nothing yet."""
        # The lock comes first: the transaction's view begins with its first statement, and would be older than the
        # postings if another thread caught up in between.
        with self._lock:
            now = current(connection)
            if self._state is None or self._state[1] != now:
                postings = self._caught_up(connection) or self._from_file(connection) or self._built(connection)
                self._state = (postings, now)
                self._database.fault("keyword index caught up")
                if self._unwritten >= WRITE_EVERY:
                    self._try_to_write()
            return self._state[0]

    def close(self) -> None:
        """Write the file, so that the next start needn't read all segments. What can't be written is only logged.

        One that is a little behind stays: to catch up costs less than to write it all.
        """
        with self._lock:
            if self._state is not None and _LITTLE * self._unwritten >= self._state[0].size:
                self._try_to_write()
            self._state, self._unwritten = None, 0

    def _caught_up(self, connection: Connection) -> Postings | None:
        """The postings in memory with the changes since; None where they have to be made anew."""
        if self._state is None:
            return None
        postings, generation = self._state
        # Unless all of it is done, none of it counts: an exception in the middle leaves no postings behind.
        self._state = None
        changes = changes_since(connection, generation)
        if changes is None or len(changes.changed) > max(1000, postings.size):
            return None
        self._unwritten += len(changes.changed) + len(changes.removed)
        changed = {row.id: _terms(row) for row in rows_of(connection, _NAMED, changes.changed, store=self._store)}
        return postings.updated(changed, {*changes.changed, *changes.removed})

    def _from_file(self, connection: Connection) -> Postings | None:
        found = read_postings(self.path, store=self._store)
        if found is None:
            return None
        self._state, self._unwritten = found, 0
        postings = self._caught_up(connection)
        if postings is not None and postings.size != self._count(connection):
            logger.warning("the file %s doesn't hold what the database does; it's built anew", self.path.name)
            return None
        return postings

    def _built(self, connection: Connection) -> Postings:
        started = time.perf_counter()
        postings = Postings.of(self._all_terms(connection))
        self._unwritten = max(1, postings.size)
        logger.info("read the terms of %d segments in %.2f s", postings.size, time.perf_counter() - started)
        return postings

    def _try_to_write(self) -> None:
        if self._state is None or not self._unwritten:
            return
        try:
            write_postings(self.path, *self._state, store=self._store, fault=self._database.fault)
        except OSError as error:
            logger.warning("the postings file wasn't written: %s", storage_error(error, self._database.data_dir))
        else:
            self._unwritten = 0

    def _all_terms(self, connection: Connection) -> Iterator[tuple[int, list[str]]]:
        for rows in connection.execute(_SEARCHED.order_by(segments.c.id), {"store": self._store}).partitions(5_000):
            for row in rows:
                yield row.id, _terms(row)

    def _count(self, connection: Connection) -> int:
        """How many segments are searched, asked so that indexes answer: going through all texts takes seconds."""
        count = select(func.count()).select_from(segments).where(is_visible)
        free = count.where(segments.c.text_id.is_(None))
        # Not `store = …`: SQLite would take the index over it, and go through the store's documents as well.
        searched = free.where(func.coalesce(segments.c.store, "") == self._store, segments.c.text.is_not(None))
        if self._store != DOCUMENT_STORE:
            return connection.execute(searched).scalar_one()
        # All segments of documents have a text, and are in this store.
        every, all_free, free_here = (connection.execute(query).scalar_one() for query in (count, free, searched))
        return every - all_free + free_here


_SEARCHED = select(segments.c.id, segments.c.terms).where(
    segments.c.store == bindparam("store"), segments.c.text.is_not(None), is_visible
)
_NAMED = _SEARCHED.where(segments.c.id.in_(ASKED))


def _terms(row: Row) -> list[str]:
    return row.terms.split(" ") if row.terms else []
