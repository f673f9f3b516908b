"""The reference: a list that is gone through from front to back. What it answers is what every store must answer."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from core.domain import EmbeddingMatch, EmbeddingSearchRequest, TextSegment
from core.errors import ConfigError
from core.filters import Filter
from storage.database import Database
from storage.embedding_stores.arguments import NewEntry, many_entries, one_entry, one_id, what_to_remove
from storage.generation import Generation, current
from storage.stored_entries import StoredEntry, belongs_to_document, read_documents, unsearchable
from storage.vectors import cosines, unit_vector, wrong_dimension


class InMemoryEmbeddingStore:
    """In memory, for small collections and tests: exact, nothing kept on disk

    Given a database it also finds the documents there, and nothing else of it. What is added to it ends with it.
    """

    def __init__(
        self, database: Database | None = None, *, model_id: str = "default", dimension: int | None = None
    ) -> None:
        self.model_id = model_id
        self.dimension = dimension
        self._database = database
        self._lock = threading.RLock()
        self._added: dict[str, StoredEntry] = {}
        self._documents: dict[str, StoredEntry] = {}
        self._generation: Generation | None = None

    def add(self, *args) -> str:
        return self._put([one_entry(args)])[0]

    def add_all(self, *args) -> list[str]:
        return self._put(many_entries(args))

    def remove(self, id: str) -> None:
        self._drop({one_id(id)})

    def remove_all(self, *args) -> None:
        which = what_to_remove(args)
        with self._lock:
            if which is None:
                self._drop({entry.uid for entry in self._entries()})
            elif isinstance(which, Filter):
                self._drop({entry.uid for entry in self._entries() if _seen(entry, which) is not None})
            else:
                self._drop(set(which))

    def search(self, request: EmbeddingSearchRequest) -> list[EmbeddingMatch]:
        query = unit_vector(request.query_embedding)
        with self._lock:
            found = [(entry, _seen(entry, request.filter)) for entry in self._entries()]
            self._check_dimension(len(query), self.dimension)
            if not found:
                self._say_why_nothing_is_found()
        found = [(entry, seen) for entry, seen in found if seen is not None]
        if not found:
            return []
        similarities = cosines(np.stack([entry.vector for entry, _ in found]), query)
        matches = []
        for position in np.argsort(-similarities, kind="stable"):
            cosine = float(similarities[position])
            entry, (document_id, segment) = found[position]
            if (cosine + 1) / 2 >= request.min_score and len(matches) < request.max_results:
                matches.append(EmbeddingMatch((cosine + 1) / 2, entry.uid, _copy(segment), cosine, document_id))
        return matches

    def count(self) -> int:
        with self._lock:
            return len(self._entries())

    def load(self) -> None:
        """Read the documents now instead of at the first search."""
        self.count()

    def close(self) -> None:
        """Nothing is kept open."""

    def _put(self, entries: list[NewEntry]) -> list[str]:
        with self._lock:
            self._refuse_documents({entry.id for entry in entries})
            dimension = self.dimension
            for entry in entries:
                dimension = self._check_dimension(len(entry.vector), dimension)
            self.dimension = dimension
            for entry in entries:
                segment = _copy(entry.segment)
                seen_as = ((None, None if segment is None else segment.metadata, segment),)
                self._added.pop(entry.id, None)  # a replaced entry is a new one, behind the others
                self._added[entry.id] = StoredEntry(entry.id, entry.vector, seen_as)
        return [entry.id for entry in entries]

    def _drop(self, ids: Iterable[str]) -> None:
        with self._lock:
            self._refuse_documents(ids)
            for id in ids:
                self._added.pop(id, None)

    def _entries(self) -> list[StoredEntry]:
        if self._database is not None:
            with self._database.read() as connection:
                generation = current(connection)
                if generation != self._generation:
                    stored = read_documents(connection, self.model_id)
                    self._documents = {entry.uid: entry for entry in stored}
                    self._generation = generation
                    self.dimension = len(stored[0].vector) if stored else self.dimension
        return [*self._documents.values(), *self._added.values()]

    def _say_why_nothing_is_found(self) -> None:
        if self._database is not None:
            with self._database.read() as connection:
                if sentence := unsearchable(connection, self.model_id):
                    raise ConfigError(sentence)

    def _refuse_documents(self, ids: Iterable[str]) -> None:
        self._entries()
        for id in ids:
            if id in self._documents:
                raise belongs_to_document(id)

    def _check_dimension(self, got: int, dimension: int | None) -> int:
        if dimension is not None and got != dimension:
            raise wrong_dimension(got, model_id=self.model_id, dimension=dimension)
        return got


def _seen(entry: StoredEntry, filter: Filter | None) -> tuple[int | None, TextSegment | None] | None:
    """(document id, segment) as the first document that the filter matches shows it; None where it matches none."""
    for document_id, metadata, segment in entry.seen_as:
        if filter is None or (metadata is not None and filter.matches(metadata)):
            return document_id, segment
    return None


def _copy(segment: TextSegment | None) -> TextSegment | None:
    """With metadata of its own, which neither giver nor taker changes for the other."""
    return None if segment is None else replace(segment, metadata=segment.metadata.copy())
