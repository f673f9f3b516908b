"""By meaning and by words at once: both legs in parallel, fused, cut to the best."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Protocol

from core.domain import Content, Embedding, KeywordScore
from core.errors import ConfigError, FilterError, FootnoteError, RetrievalError
from core.protocols import SegmentReader, TokenCountEstimator
from core.query import Query
from core.rag.executor import IdleThreadExecutor
from core.rag.fusion import AdaptiveFusion, reciprocal_rank_fusion
from core.rag.fusion.completing import with_keyword_score
from core.rag.retrievers.limits import Limits
from core.rag.retrievers.unread import read

logger = logging.getLogger(__name__)

# What it leaves in the query's invocation parameters: legs that failed, and how much of the query the model can read.
FAILURES = "failures"
READABLE = "readable"


class VectorLeg(Protocol):
    """`EmbeddingStoreContentRetriever` is one."""

    def embed(self, query: Query) -> Embedding: ...

    def retrieve_nearest(
        self, query: Query, embedding: Embedding, limits: Limits, *, unread: bool = False
    ) -> list[Content]: ...


class KeywordLeg(Protocol):
    """`KeywordContentRetriever` is one."""

    def retrieve_matching(self, query: Query, limits: Limits, *, unread: bool = False) -> list[Content]: ...

    def scores_of(self, query: Query, ids: Sequence[str]) -> dict[str, KeywordScore]: ...


class VectorScores(Protocol):
    def cosines_of(self, embedding: Embedding, ids: Sequence[str]) -> dict[str, float]: ...


class HybridContentRetriever:
    """By meaning and by words in parallel, fused by scores that fit the query, or by ranks.

    vector, keyword  the two legs
    tokenizer        the embedding model's, or a callable that gives it: fuses adaptively; None: by ranks (RRF)
    vector_scores    gives cosines of what only the keyword leg found; without it they are estimated
    segments         reads what is kept after fusion; without it the legs read all of their candidates
    candidates       taken from each leg before fusion
    limits           max_results (3), min_score (of vector hits), filter, and dynamic_… for each

    A leg that fails is named in the query's invocation parameters under "failures", and the other answers alone.
    """

    def __init__(
        self,
        vector: VectorLeg,
        keyword: KeywordLeg,
        *,
        tokenizer: TokenCountEstimator | Callable[[], TokenCountEstimator] | None = None,
        vector_scores: VectorScores | Callable[[], VectorScores] | None = None,
        segments: SegmentReader | None = None,
        candidates: int = 50,
        executor: Executor | None = None,
        **limits: Any,
    ) -> None:
        if candidates < 1:
            raise ConfigError(f"candidates={candidates} must be at least 1")
        self.name = "hybrid_rrf" if tokenizer is None else "hybrid"
        self._vector = vector
        self._keyword = keyword
        self._tokenizer = tokenizer
        self._vector_scores = vector_scores
        self._segments = segments
        self._candidates = candidates
        self._executor = executor or IdleThreadExecutor()
        self._limits = Limits(**limits)

    def retrieve(self, query: Query) -> list[Content]:
        """raises RetrievalError where both legs fail"""
        limits = self._limits.of(query)
        most = max(self._candidates, limits.max_results)
        of_legs = replace(limits, max_results=most)
        form = {} if self._segments is None else {"unread": True}
        by_words = self._executor.submit(self._keyword.retrieve_matching, query, of_legs, **form)
        failures: dict[str, FootnoteError] = {}
        embedding: Embedding | None = None
        vector: list[Content] = []
        try:
            embedding = self._vector.embed(query)
            vector = self._vector.retrieve_nearest(query, embedding, of_legs, **form)
        except FilterError:
            raise
        except FootnoteError as error:
            failures["vector"] = error
        try:
            keyword = by_words.result()
        except FilterError:
            raise
        except FootnoteError as error:
            failures["keyword"] = error
            keyword = []
        self._report(query, failures)
        if not failures and self._tokenizer is not None:
            fused = self._fused(query, embedding, vector, keyword)
        else:
            keyword = self._scored(query, keyword)
            fused = (vector or keyword) if failures else reciprocal_rank_fusion([vector, keyword])
        fused = fused[: limits.max_results]
        if self._segments is not None:
            fused = read(fused, self._segments, limits.filter)
        return [content.with_scores({}, {self.name: rank}) for rank, content in enumerate(fused, 1)]

    def _fused(
        self, query: Query, embedding: Embedding | None, vector: list[Content], keyword: list[Content]
    ) -> list[Content]:
        by_vector, by_keyword = {content.key for content in vector}, {content.key for content in keyword}
        only_keyword = [content.id for content in keyword if content.id and content.key not in by_vector]
        unscored = [content.id for content in keyword if "bm25" not in content.scores]
        if len(keyword) >= self._candidates:  # else it holds every segment with a word of the query
            unscored += [content.id for content in vector if content.id and content.key not in by_keyword]
        tokenizer = self._tokenizer if hasattr(self._tokenizer, "offsets") else self._tokenizer()
        fusion = AdaptiveFusion(tokenizer)
        query.metadata.invocation_parameters.put(READABLE, fusion.readable(query.text))
        return fusion.fuse(
            query.text,
            vector,
            keyword,
            cosines=self._cosines(embedding, only_keyword),
            keyword_scores=self._keyword.scores_of(query, unscored),
        )

    def _scored(self, query: Query, keyword: list[Content]) -> list[Content]:
        """With the scores that an unread content comes without."""
        found = self._keyword.scores_of(query, [content.id for content in keyword if "bm25" not in content.scores])
        return [
            with_keyword_score(content, found[content.id]) if content.id in found else content for content in keyword
        ]

    def _cosines(self, embedding: Embedding | None, ids: list[str]) -> Mapping[str, float]:
        if self._vector_scores is None or embedding is None or not ids:
            return {}
        source = self._vector_scores if hasattr(self._vector_scores, "cosines_of") else self._vector_scores()
        return source.cosines_of(embedding, ids)

    def _report(self, query: Query, failures: Mapping[str, FootnoteError]) -> None:
        for leg, error in failures.items():
            logger.warning("the %s leg failed: %s", leg, error)
        if len(failures) == 2:
            raise RetrievalError("; ".join(dict.fromkeys(str(error) for error in failures.values())))
        if failures:
            parameters = query.metadata.invocation_parameters
            named = parameters.get(FAILURES, ())
            found = tuple(f"{leg}: {error}" for leg, error in failures.items())
            parameters.put(FAILURES, tuple(dict.fromkeys((*named, *found))))
