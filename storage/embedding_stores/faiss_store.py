"""The default store: SQLite keeps the vectors, FAISS finds the nearest.

FAISS only proposes. Its candidates are read from SQLite in the same transaction and scored again there, so that a stale
or wrong index can cost hits, but never invent one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection, select

from core.domain import EmbeddingMatch, EmbeddingSearchRequest
from core.errors import ConfigError
from core.filters import Filter
from storage.database import Database
from storage.database_errors import storage_error
from storage.embedding_stores.arguments import NewEntry, many_entries, one_entry, one_id, what_to_remove
from storage.embedding_stores.faiss_cache import FaissCache
from storage.embedding_stores.faiss_index import EXACT_LIMIT
from storage.generation import advance
from storage.model_rows import model_row
from storage.segment_ids import uids_of
from storage.segment_rows import load_segments
from storage.stored_entries import remove_entries, remove_rows, unsearchable, write_entries
from storage.tables import DOCUMENT_STORE, is_visible, segments
from storage.vectors import cosines, unit_vector, wrong_dimension


def no_terms(text: str) -> str:
    """Entries that are added by themselves stand in no keyword index, unless the store is given a tokeniser."""
    return ""


class FaissEmbeddingStore:
    """FAISS over SQLite: exact results, catches up with other processes, built anew when damaged

    database     keeps everything; the store may be thrown away at any time
    model_id     which model's vectors are searched
    dimension    refuses other vectors from the start; else the first one decides
    name         the store's name; "main" also finds the segments of documents
    terms        makes keyword tokens of an added segment's text (`core.text.terms.index_terms`)
    exact_limit  from so many vectors on, they're held in 8 bits a number and candidates are scored again all the same
    """

    def __init__(
        self,
        database: Database,
        *,
        model_id: str = "default",
        dimension: int | None = None,
        name: str = DOCUMENT_STORE,
        terms: Callable[[str], str] = no_terms,
        exact_limit: int = EXACT_LIMIT,
    ) -> None:
        self.model_id = model_id
        self.name = name
        self._database = database
        self._dimension = dimension
        self._mask = database.filter_mask
        self._terms = terms
        self._cache = FaissCache(database, store=name, model_id=model_id, exact_limit=exact_limit)

    def add(self, *args) -> str:
        return self._put([one_entry(args)])[0]

    def add_all(self, *args) -> list[str]:
        return self._put(many_entries(args))

    def remove(self, id: str) -> None:
        self._remove([one_id(id)])

    def remove_all(self, *args) -> None:
        which = what_to_remove(args)
        if which is None or isinstance(which, Filter):
            self._remove_matching(which)
        else:
            self._remove(which)

    def search(self, request: EmbeddingSearchRequest) -> list[EmbeddingMatch]:
        """raises ConfigError: wrong dimension, a filter that mixes types, or vectors by other models only."""
        with self._database.read() as connection:
            best = self._best(connection, request)
            found = load_segments(connection, [id for id, _ in best], request.filter)
        return [
            EmbeddingMatch((cosine + 1) / 2, hit.uid, hit.segment, cosine, hit.document_id)
            for id, cosine in best
            if (hit := found.get(id))
        ]

    def search_ids(self, request: EmbeddingSearchRequest) -> list[tuple[str, float]]:
        """(id, cosine) of what `search` finds, best first, without reading the segments."""
        with self._database.read() as connection:
            best = self._best(connection, request)
            uids = uids_of(connection, [id for id, _ in best])
        return [(uids[id], cosine) for id, cosine in best if id in uids]

    def count(self) -> int:
        """Entries that a search goes through."""
        with self._database.read() as connection, self._cache.lock:
            index = self._cache.up_to_date(connection)
            return 0 if index is None else len(index.ids)

    def load(self) -> None:
        """Read or build the index now instead of at the first search."""
        self.count()

    def save_index(self) -> None:
        """Write the index file, if it's behind. raises StorageError; the old file stays."""
        with self._cache.lock:
            try:
                self._cache.write()
            except OSError as error:
                raise storage_error(error, self._database.data_dir) from error

    def close(self) -> None:
        """Write the index file, so that the next start needn't build it. What can't be written is only logged."""
        with self._cache.lock:
            self._cache.try_to_write()
            self._cache.forget()

    def _put(self, entries: list[NewEntry]) -> list[str]:
        if not entries:
            return []
        with self._database.write() as connection:
            dimensions = dict.fromkeys(len(entry.vector) for entry in entries)
            for got in dimensions:
                self._check_dimension(connection, got)
            if len(dimensions) > 1:
                first, second, *_ = dimensions
                raise wrong_dimension(second, model_id=self.model_id, dimension=first)
            write_entries(
                connection,
                [(entry.id, entry.vector, entry.segment) for entry in entries],
                store=self.name,
                model_id=self.model_id,
                generation=advance(connection),
                terms=self._terms,
            )
        return [entry.id for entry in entries]

    def _remove(self, ids: list[str]) -> None:
        with self._database.write() as connection:
            remove_entries(connection, ids, store=self.name, generation=advance(connection))

    def _remove_matching(self, filter: Filter | None) -> None:
        query = select(segments.c.id, segments.c.uid, segments.c.text_id)
        query = query.where(segments.c.store == self.name, is_visible)
        with self._database.write() as connection:
            rows = connection.execute(query).all()
            if filter is not None:
                allowed = set(self._mask.allowed(connection, filter).ids.tolist())
                rows = [row for row in rows if row.id in allowed]
            remove_rows(connection, rows, advance(connection))

    def _check_dimension(self, connection: Connection, got: int) -> None:
        row = model_row(connection, self.model_id)
        dimension = self._dimension if row is None else row.dimension
        if dimension is not None and got != dimension:
            raise wrong_dimension(got, model_id=self.model_id, dimension=dimension)

    def _best(self, connection: Connection, request: EmbeddingSearchRequest) -> list[tuple[int, float]]:
        """(id, cosine) of the best, of equals the older one first."""
        query = unit_vector(request.query_embedding)
        # The transaction's view begins with its first statement: inside the lock it's never behind the index.
        with self._cache.lock:
            index = self._cache.up_to_date(connection)
            self._check_dimension(connection, len(query))
            if index is None:
                if sentence := unsearchable(connection, self.model_id, self.name):
                    raise ConfigError(sentence)
                return []
            allowed = self._mask.allowed(connection, request.filter)
            # More than asked for: what rounding put just below the last place may belong above it.
            limit = request.max_results + 16 if index.kind == "exact" else 4 * request.max_results + 64
            candidates = index.search(query, limit, allowed)
        ids, rows = self._cache.vectors(connection, candidates.tolist())
        similarities = cosines(rows, query)
        order = np.lexsort((ids, -similarities))
        best = [(int(ids[place]), float(similarities[place])) for place in order]
        return [(id, cosine) for id, cosine in best if (cosine + 1) / 2 >= request.min_score][: request.max_results]
