"""The default store: SQLite keeps the vectors, FAISS finds the nearest.

FAISS only proposes. Its candidates are read from SQLite in the same transaction and scored again there, so that a stale
or wrong index can cost hits, but never invent one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, select

from core.domain import EmbeddingMatch, EmbeddingSearchRequest
from core.errors import ConfigError
from core.filters import Filter
from storage.database import Database
from storage.embedding_stores.arguments import NewEntry, many_entries, one_entry, one_id, what_to_remove
from storage.embedding_stores.faiss_cache import FaissCache
from storage.embedding_stores.faiss_index import EXACT_LIMIT
from storage.generation import advance
from storage.model_rows import model_row
from storage.segment_rows import load_segments
from storage.stored_entries import remove_entries, remove_rows, unsearchable, write_entries
from storage.tables import DOCUMENT_STORE, is_visible, segments
from storage.vector_rows import vector_rows
from storage.vectors import cosines, from_blobs, unit_vector, wrong_dimension

# Candidates beyond what is asked for: rounding puts some of the nearest a little lower. So many, and in a crowd of
# nearly equal vectors twice as many each time up to the most, where those left are as good as equal.
_MORE = 24
_MOST = 2_000


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
            found = load_segments(connection, [hit.id for hit in best], request.filter)
        return [
            EmbeddingMatch((hit.cosine + 1) / 2, hit.uid, segment.segment, hit.cosine, segment.document_id)
            for hit in best
            if (segment := found.get(hit.id))
        ]

    def search_ids(self, request: EmbeddingSearchRequest) -> list[tuple[str, float]]:
        """(id, cosine) of what `search` finds, best first, without reading the segments."""
        with self._database.read() as connection:
            return [(hit.uid, hit.cosine) for hit in self._best(connection, request)]

    def count(self) -> int:
        """Entries that a search goes through."""
        with self._database.read() as connection, self._cache.lock:
            index = self._cache.up_to_date(connection)
            return 0 if index is None else len(index.ids)

    def load(self) -> None:
        """Read or build the index now instead of at the first search."""
        self.count()

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
                self._checked_model(connection, got)
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

    def _checked_model(self, connection: Connection, got: int) -> Row | None:
        """The model's row, where it has made vectors here. raises ConfigError where its vectors aren't of that size."""
        row = model_row(connection, self.model_id)
        dimension = self._dimension if row is None else row.dimension
        if dimension is not None and got != dimension:
            raise wrong_dimension(got, model_id=self.model_id, dimension=dimension)
        return row

    def _best(self, connection: Connection, request: EmbeddingSearchRequest) -> list[_Hit]:
        """Exactly the nearest: candidates are asked for until no other can be as near as the last that is wanted."""
        query = unit_vector(request.query_embedding)
        # The transaction's view begins with its first statement: inside the lock it's never behind the index, which
        # stays as it is to the end, or what is proposed might be of a later state, and nothing of it visible here.
        with self._cache.lock:
            index = self._cache.up_to_date(connection)
            model = self._checked_model(connection, len(query))
            if index is None:
                if sentence := unsearchable(connection, self.model_id, self.name):
                    raise ConfigError(sentence)
                return []
            allowed = self._mask.allowed(connection, request.filter)
            limit, is_sure = request.max_results + _MORE, False
            while not is_sure:
                ids, scores = index.search(query, limit, allowed)
                wanted = self._scored(connection, model, query, ids)[: request.max_results]
                # What wasn't proposed is at most as near as the last that was, but for the index's error.
                nearest_left = float(scores[-1]) + index.error if len(ids) == limit else -2.0
                is_full = len(wanted) == request.max_results
                least_wanted = wanted[-1].cosine if is_full else 2 * request.min_score - 1
                is_sure = least_wanted >= nearest_left or limit >= _MOST
                limit *= 2
        return [hit for hit in wanted if (hit.cosine + 1) / 2 >= request.min_score]

    def _scored(self, connection: Connection, model: Row, query: np.ndarray, ids: np.ndarray) -> list[_Hit]:
        """The candidates with their exact cosines, best first; of equals the older one first."""
        rows = vector_rows(connection, self.name, model, ids.tolist())
        similarities = cosines(from_blobs([row.vector for row in rows], len(query)), query)
        hits = [_Hit(row.id, row.uid, cosine) for row, cosine in zip(rows, similarities.tolist(), strict=True)]
        return sorted(hits, key=lambda hit: (-hit.cosine, hit.id))


class _Hit(NamedTuple):
    """`id` is the row, `uid` what people and programs see."""

    id: int
    uid: str
    cosine: float
