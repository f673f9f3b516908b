"""By words: the segments that hold the rarest words of the query most densely (BM25)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.domain import Content, KeywordScore
from core.protocols import KeywordIndex
from core.query import Query
from core.rag.retrievers.limits import Limits
from core.rag.retrievers.unread import UNREAD


class KeywordContentRetriever:
    """By words: the segments that hold the question's rarest words (BM25).

    limits  max_results (3), filter, and dynamic_… for each; min_score is of vectors and doesn't count here
    """

    name = "keyword"

    def __init__(self, index: KeywordIndex, **limits: Any) -> None:
        self._index = index
        self._limits = Limits(**limits)

    def retrieve(self, query: Query) -> list[Content]:
        return self.retrieve_matching(query, self._limits.of(query))

    def retrieve_matching(self, query: Query, limits: Limits, *, unread: bool = False) -> list[Content]:
        """unread  contents may come without text and scores (`scores_of` has them), where the index can search so"""
        if unread and hasattr(self._index, "search_ids"):
            ids = self._index.search_ids(query.text, limit=limits.max_results, filter=limits.filter)
            return [Content(UNREAD, id, ranks={self.name: rank}) for rank, id in enumerate(ids, 1)]
        matches = self._index.search(query.text, limit=limits.max_results, filter=limits.filter)
        return [
            Content(
                match.segment,
                match.id,
                match.document_id,
                {"bm25": match.bm25, "share": match.share, "coverage": match.coverage, "phrase": match.phrase},
                {self.name: rank},
                match.matched_terms,
            )
            for rank, match in enumerate(matches, 1)
        ]

    def scores_of(self, query: Query, ids: Sequence[str]) -> dict[str, KeywordScore]:
        """What the words of the query are worth in named segments."""
        return self._index.scores_of(query.text, ids) if ids else {}
