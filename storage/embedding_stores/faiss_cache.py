"""The FAISS index of one store and model, kept in step with SQLite by the generation number."""

from __future__ import annotations

import logging
import threading
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, func, select

from storage.database import Database
from storage.database_errors import storage_error
from storage.embedding_stores.faiss_index import FaissIndex, reach_for
from storage.embedding_stores.index_file import index_path, read_index, write_index
from storage.generation import Generation, changes_since, current
from storage.model_rows import model_row
from storage.stored_entries import with_vectors
from storage.tables import is_visible, segments, vectors
from storage.vector_rows import vector_rows
from storage.vectors import from_blobs

logger = logging.getLogger(__name__)

# So many changes are worth writing the file while the app runs; else it's written when the store is closed.
WRITE_EVERY = 20_000
_ROWS_AT_ONCE = 20_000


class _State(NamedTuple):
    index: FaissIndex
    generation: Generation


class FaissCache:
    """Everything here but `lock` and `save` is called with the lock held."""

    def __init__(self, database: Database, *, store: str, model_id: str, exact_limit: int) -> None:
        self.lock = threading.Lock()
        self.path = index_path(database.data_dir, store, model_id)
        self._database = database
        self._store = store
        self._model_id = model_id
        self._exact_limit = exact_limit
        self._state: _State | None = None
        self._unwritten = 0

    def up_to_date(self, connection: Connection) -> FaissIndex | None:
        """The index at the generation of this transaction; None where this model has no vectors in the store."""
        now = current(connection)
        if self._state is not None and now == self._state.generation:
            return self._state.index
        model = model_row(connection, self._model_id)
        if model is None or not self._has_vectors(connection, model):
            self._state = None
            return None
        index = self._caught_up(connection) or self._from_file(connection, model) or self._built(connection, model)
        self._state = _State(index, now)
        self._database.fault("vector index caught up")
        if self._unwritten >= WRITE_EVERY:
            self.try_to_write()
        return index

    def vectors(self, connection: Connection, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """(those of the ids that have a vector, int64; their vectors, float32, a row each), in no order."""
        model = model_row(connection, self._model_id)
        rows = vector_rows(connection, self._store, model, ids)
        return np.array([row.id for row in rows], dtype=np.int64), from_blobs(
            [row.vector for row in rows], model.dimension
        )

    def try_to_write(self) -> None:
        """What can't be written is only logged; the old file stays."""
        if self._state is None or not self._unwritten:
            return
        names = {"store": self._store, "model_id": self._model_id}
        try:
            write_index(self.path, *self._state, **names, fault=self._database.fault)
        except OSError as error:
            logger.warning("the index file wasn't written: %s", storage_error(error, self._database.data_dir))
        else:
            self._unwritten = 0

    def forget(self) -> None:
        self._state, self._unwritten = None, 0

    def _caught_up(self, connection: Connection) -> FaissIndex | None:
        """The index in memory with the changes since; None where it has to be made anew."""
        if self._state is None:
            return None
        index, generation = self._state
        # Unless all of it is done, none of it counts: an exception in the middle leaves no index behind.
        self._state = None
        changes = changes_since(connection, generation)
        if changes is None or len(changes.changed) > max(1000, len(index.ids)):
            return None
        ids, rows = self.vectors(connection, changes.changed)
        if not index.takes(rows):
            return None
        index.remove(changes.removed + changes.changed)
        index.add(ids, rows)
        self._unwritten += len(changes.removed) + len(changes.changed)
        outgrown = index.kind == "exact" and len(index.ids) > self._exact_limit
        # Back to exact only well below, so that one document coming and going doesn't build it anew each time.
        shrunk = index.kind != "exact" and 2 * len(index.ids) < self._exact_limit
        return None if outgrown or shrunk else index

    def _from_file(self, connection: Connection, model: Row) -> FaissIndex | None:
        found = read_index(self.path, store=self._store, model_id=self._model_id, dimension=model.dimension)
        if found is None:
            return None
        self._state, self._unwritten = _State(*found), 0
        index = self._caught_up(connection)
        if index is not None and len(index.ids) != self._count(connection, model):
            logger.warning("the index file %s doesn't hold what the database does; it's built anew", self.path.name)
            return None
        return index

    def _built(self, connection: Connection, model: Row) -> FaissIndex:
        count = self._count(connection, model)
        kind = "exact" if count <= self._exact_limit else "8bit"
        index, reach = None, None
        while index is None:
            index, reach = self._filled(connection, model, FaissIndex(model.dimension, kind, reach=reach))
        self._unwritten = max(1, count)
        logger.info("built the %s index of %d vectors by %s", index.kind, count, self._model_id)
        return index

    def _filled(self, connection: Connection, model: Row, index: FaissIndex) -> tuple[FaissIndex | None, float | None]:
        """(the index with all vectors, None); or (None, the reach that it needs) where it cuts one off."""
        query = with_vectors(self._store, model, segments.c.id).order_by(segments.c.id)
        for rows in connection.execute(query).partitions(_ROWS_AT_ONCE):
            ids = np.array([row.id for row in rows], dtype=np.int64)
            found = from_blobs([row.vector for row in rows], model.dimension)
            if not index.takes(found):
                return None, reach_for(found)
            index.add(ids, found)
        return index, None

    def _count(self, connection: Connection, model: Row) -> int:
        rows = with_vectors(self._store, model, segments.c.id).subquery()
        return connection.execute(select(func.count()).select_from(rows)).scalar_one()

    def _has_vectors(self, connection: Connection, model: Row) -> bool:
        query = select(vectors.c.segment_id).join(segments)
        query = query.where(vectors.c.model_id == model.id, segments.c.store == self._store, is_visible)
        return connection.execute(query.limit(1)).first() is not None
