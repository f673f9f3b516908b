"""Keyword search over the segments in SQLite: BM25, any term of the query, filters before the best are taken.

`segments.terms` (and the FTS5 table over it) is the truth. Queries run on postings in memory that carry the generation
they were made for and catch up before every search, so that all processes on one folder agree. FTS5's own ranking is
not used: it can't score named segments, clamps its idf, and takes 177 ms for any term of 100,000 segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sqlalchemy import Connection, bindparam, select

from core.domain import KeywordMatch, KeywordScore
from core.errors import ConfigError
from core.filters import Filter
from core.text.phrases import Phrase
from core.text.postings import Postings
from core.text.terms import QueryTerm, locate_query_terms
from storage.database import Database
from storage.lookups import ASKED, rows_of
from storage.postings_cache import PostingsCache
from storage.segment_ids import uids_of
from storage.segment_rows import load_segments
from storage.tables import DOCUMENT_STORE, is_visible, segments


class SqliteKeywordIndex:
    """Which segments hold the words of a query, best first. Thread-safe; share one per database.

    store  name of the embedding store whose segments are searched
    """

    def __init__(self, database: Database, *, store: str = DOCUMENT_STORE) -> None:
        self._database = database
        self._mask = database.filter_mask
        self._store = store
        self._cache = PostingsCache(database, store=store)

    def warm(self) -> None:
        """Read the postings now rather than at the first search."""
        with self._database.read() as connection:
            self._cache.up_to_date(connection)

    def close(self) -> None:
        """Write the postings' file for the next start."""
        self._cache.close()

    def search(self, query: str, *, limit: int, filter: Filter | None = None) -> list[KeywordMatch]:
        """raises ConfigError where limit is below 1 or the filter compares values of two types; never for a query."""
        asked = _Asked.of(query, limit)
        if not asked.located:
            return []
        with self._database.read() as connection:
            postings = self._cache.up_to_date(connection)
            rows = self._best(connection, postings, asked, limit, filter)
            ids = postings.ids[rows].tolist()
            found = load_segments(connection, ids, filter)
            terms = {row.id: row.terms for row in rows_of(connection, _TERMS, ids)}
        details = _details(postings, asked, rows, terms)
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
            for id, detail in zip(ids, details, strict=True)
            # None: removed between the scoring and this read
            if (hit := found.get(id)) is not None and hit.segment is not None
        ]

    def search_ids(self, query: str, *, limit: int, filter: Filter | None = None) -> list[str]:
        """The ids of what `search` finds, best first, without reading the segments."""
        asked = _Asked.of(query, limit)
        if not asked.located:
            return []
        with self._database.read() as connection:
            postings = self._cache.up_to_date(connection)
            ids = postings.ids[self._best(connection, postings, asked, limit, filter)].tolist()
            uids = uids_of(connection, ids)
        return [uids[id] for id in ids if id in uids]

    def scores_of(self, query: str, ids: Sequence[str]) -> dict[str, KeywordScore]:
        asked = _Asked.of(query)
        with self._database.read() as connection:
            postings = self._cache.up_to_date(connection)
            found = {row.id: row for row in rows_of(connection, _TERMS_BY_UID, ids, store=self._store)}
        rows = postings.rows_of(found)
        details = _details(postings, asked, rows, {id: row.terms for id, row in found.items()})
        return {found[id].uid: detail for id, detail in zip(postings.ids[rows].tolist(), details, strict=True)}

    def _best(
        self, connection: Connection, postings: Postings, asked: _Asked, limit: int, filter: Filter | None
    ) -> np.ndarray:
        allowed = self._mask.allowed(connection, filter)
        among = None if allowed is None else allowed.among(postings.ids)
        return postings.best(asked.terms, limit, optional=asked.optional, allowed=among)


_TERMS = select(segments.c.id, segments.c.terms).where(segments.c.id.in_(ASKED))
_TERMS_BY_UID = select(segments.c.id, segments.c.uid, segments.c.terms).where(
    segments.c.store == bindparam("store"), segments.c.uid.in_(ASKED), is_visible
)


@dataclass(frozen=True)
class _Asked:
    """A query in terms. `optional` ones are made of neighbouring words, and not missed where they aren't found."""

    query: str
    located: tuple[QueryTerm, ...]
    optional: frozenset[str]

    @classmethod
    def of(cls, query: str, limit: int = 1) -> _Asked:
        if limit < 1:
            raise ConfigError(f"limit={limit} must be at least 1")
        located = tuple(locate_query_terms(query))
        words = {found.term for found in located if not found.is_joined}
        return cls(query, located, frozenset(found.term for found in located) - words)

    @property
    def terms(self) -> list[str]:
        return [found.term for found in self.located]


def _details(postings: Postings, asked: _Asked, rows: np.ndarray, terms: Mapping[int, str]) -> list[KeywordScore]:
    """Per row its numbers and the words of the query it holds, as they were typed, in the order of the query.

    terms  of each segment, joined by blanks
    """
    scores = postings.scores_of(asked.terms, rows, optional=asked.optional)
    words = [found.term for found in asked.located if not found.is_joined]
    phrase = Phrase(words, scores.rarity)
    has_pair = np.zeros(len(rows), dtype=bool)
    for first, second in pairwise(words):
        if first in scores.held_by and second in scores.held_by:
            has_pair |= scores.held_by[first] & scores.held_by[second]
    spans: list[list[tuple[int, int]]] = [[] for _ in rows]
    for found in asked.located:
        if found.term in scores.held_by:
            for number in np.flatnonzero(scores.held_by[found.term]).tolist():
                spans[number].append((found.start, found.end))
    return [
        KeywordScore(
            bm25,
            bm25 / scores.most if scores.most else 0.0,
            coverage,
            # Without both words of a pair there's nothing to look for.
            phrase.share_in(terms.get(id, "").split(" ")) if can_have else 0.0,
            tuple(dict.fromkeys(asked.query[start:end] for start, end in _united(of_row))),
        )
        for id, bm25, coverage, can_have, of_row in zip(
            postings.ids[rows].tolist(),
            scores.bm25.tolist(),
            scores.coverage.tolist(),
            has_pair.tolist(),
            spans,
            strict=True,
        )
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
