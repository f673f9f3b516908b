"""Keyword search over the segments in SQLite: BM25, any term of the query, filters before the best are taken.

`segments.terms` (and the FTS5 table over it) is the truth. Queries run on postings in memory that carry the generation
they were made for and catch up before every search, so that all processes on one folder agree. FTS5's own ranking is
not used: it can't score named segments, clamps its idf, and takes 177 ms for any term of 100,000 segments.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence

import numpy as np
from sqlalchemy import Connection, select

from core.domain import KeywordMatch, KeywordScore
from core.errors import ConfigError
from core.filters import Filter
from core.text.phrases import Phrase
from core.text.postings import Postings, Scores
from core.text.terms import QueryTerm, locate_query_terms
from storage.batches import batched
from storage.database import Database
from storage.generation import Generation, changes_since, current
from storage.segment_rows import load_segments
from storage.tables import DOCUMENT_STORE, segments

logger = logging.getLogger(__name__)


class SqliteKeywordIndex:
    """Which segments hold the words of a query, best first. Thread-safe; share one per database.

    store  name of the embedding store whose segments are searched
    """

    def __init__(self, database: Database, *, store: str = DOCUMENT_STORE) -> None:
        self._database = database
        self._mask = database.filter_mask
        self._store = store
        self._lock = threading.Lock()
        self._generation: Generation | None = None
        self._postings = Postings.of(())

    def warm(self) -> None:
        """Read the postings now rather than at the first search."""
        self._caught_up()

    def search(self, query: str, *, limit: int, filter: Filter | None = None) -> list[KeywordMatch]:
        """raises ConfigError where limit is below 1 or the filter compares values of two types; never for a query."""
        if limit < 1:
            raise ConfigError(f"limit={limit} must be at least 1")
        terms = locate_query_terms(query)
        if not terms:
            return []
        postings = self._caught_up()
        scores = _score(postings, terms)
        ids = postings.ids
        with self._database.read() as connection:
            allowed = self._mask.allowed(connection, filter)
            rows = _best(scores.bm25, limit, None if allowed is None else np.isin(ids, allowed))
            found = load_segments(connection, ids[rows].tolist(), filter)
            phrases = self._phrases(connection, scores, terms, ids[rows])
        details = _details(postings, scores, terms, rows, phrases, query)
        return [
            KeywordMatch(
                detail.bm25,
                hit.uid,
                hit.segment,
                detail.matched_terms,
                hit.document_id,
                detail.share,
                detail.coverage,
                detail.phrase,
            )
            for row, detail in zip(rows, details, strict=True)
            # None: removed between the scoring and this read
            if (hit := found.get(int(ids[row]))) is not None and hit.segment is not None
        ]

    def scores_of(self, query: str, ids: Sequence[str]) -> dict[str, KeywordScore]:
        terms = locate_query_terms(query)
        postings = self._caught_up()
        with self._database.read() as connection:
            row_ids: dict[int, str] = {}
            for piece in batched(ids):
                named = select(segments.c.id, segments.c.uid).where(segments.c.uid.in_(piece))
                row_ids |= {row.id: row.uid for row in connection.execute(named)}
            scores = _score(postings, terms)
            rows = np.flatnonzero(np.isin(postings.ids, list(row_ids)) & postings.is_alive)
            phrases = self._phrases(connection, scores, terms, postings.ids[rows])
        details = _details(postings, scores, terms, rows, phrases, query)
        return {row_ids[int(postings.ids[row])]: detail for row, detail in zip(rows, details, strict=True)}

    def _caught_up(self) -> Postings:
        # The lock comes first: a view opened before another thread caught up would be older than the postings.
        with self._lock, self._database.read() as connection:
            generation = current(connection)
            if generation != self._generation:
                self._postings = self._read(connection)
                self._generation = generation
                self._database.fault("keyword index caught up")
            return self._postings

    def _read(self, connection: Connection) -> Postings:
        changes = changes_since(connection, self._generation) if self._generation else None
        if changes is not None:
            changed = dict(self._terms(connection, changes.changed))
            return self._postings.updated(changed, {*changes.changed, *changes.removed})
        started = time.perf_counter()
        postings = Postings.of(self._terms(connection))
        logger.info("read the terms of %d segments in %.2f s", postings.size, time.perf_counter() - started)
        return postings

    def _phrases(
        self, connection: Connection, scores: Scores, terms: Sequence[QueryTerm], ids: np.ndarray
    ) -> list[float]:
        """How much of the query's word order each segment has, by id in the order given."""
        asked = [found.term for found in terms if not found.is_joined]
        of_segments = dict(self._terms(connection, ids.tolist()))
        phrase = Phrase(asked, scores.rarity)
        return [phrase.share_in(of_segments.get(id, ())) for id in ids.tolist()]

    def _terms(self, connection: Connection, ids: Sequence[int] | None = None) -> Iterable[tuple[int, list[str]]]:
        searched = (
            select(segments.c.id, segments.c.terms)
            .where(segments.c.store == self._store, segments.c.text.is_not(None))
            .order_by(segments.c.id)
        )
        pages = [searched] if ids is None else [searched.where(segments.c.id.in_(piece)) for piece in batched(ids)]
        for page in pages:
            for id, terms in connection.execute(page):
                yield id, terms.split(" ") if terms else []


def _score(postings: Postings, terms: Sequence[QueryTerm]) -> Scores:
    asked = {found.term for found in terms if not found.is_joined}
    return postings.score(
        [found.term for found in terms], optional={found.term for found in terms if found.term not in asked}
    )


def _best(scores: np.ndarray, limit: int, allowed: np.ndarray | None) -> np.ndarray:
    """Rows of the highest scores above 0, best first; equal ones in the order they were added."""
    candidates = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
    if len(candidates) > limit:
        least = np.partition(scores[candidates], -limit)[-limit]
        candidates = candidates[scores[candidates] >= least]
    return candidates[np.argsort(-scores[candidates], kind="stable")][:limit]


def _details(
    postings: Postings,
    scores: Scores,
    terms: Sequence[QueryTerm],
    rows: np.ndarray,
    phrases: Sequence[float],
    query: str,
) -> list[KeywordScore]:
    """Per row its numbers and the words of the query it holds, as they were typed, in the order of the query."""
    spans: list[list[tuple[int, int]]] = [[] for _ in rows]
    for found in terms:
        holders = postings.holders(found.term)
        if not len(holders):
            continue
        places = np.minimum(np.searchsorted(holders, rows), len(holders) - 1)
        for number in np.flatnonzero(holders[places] == rows):
            spans[number].append((found.start, found.end))
    return [
        KeywordScore(
            float(scores.bm25[row]),
            float(scores.bm25[row] / scores.most) if scores.most else 0.0,
            float(scores.coverage[row]),
            phrases[number],
            tuple(dict.fromkeys(query[start:end] for start, end in _united(spans[number]))),
        )
        for number, row in enumerate(rows)
    ]


def _united(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping spans as one: the pairs 東京 and 京都 of a query are shown as 東京都."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united
