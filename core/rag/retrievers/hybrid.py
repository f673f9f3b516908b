"""By meaning and by words at once: both legs in parallel, fused, cut to the best."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Protocol

from core.domain import Content, Embedding, KeywordScore
from core.errors import ConfigError, FilterError, FootnoteError, RetrievalError
from core.protocols import TokenCountEstimator
from core.query import Query
from core.rag.executor import IdleThreadExecutor
from core.rag.fusion import AdaptiveFusion, reciprocal_rank_fusion
from core.rag.retrievers.limits import Limits

logger = logging.getLogger(__name__)

# What it leaves in the query's invocation parameters: legs that failed, and how much of the query the model can read.
FAILURES = "failures"
READABLE = "readable"


class VectorLeg(Protocol):
    """`EmbeddingStoreContentRetriever` is one."""

    def embed(self, query: Query) -> Embedding: ...

    def retrieve_nearest(self, query: Query, embedding: Embedding, limits: Limits) -> list[Content]: ...


class KeywordLeg(Protocol):
    """`KeywordContentRetriever` is one."""

    def retrieve_matching(self, query: Query, limits: Limits) -> list[Content]: ...

    def scores_of(self, query: Query, ids: Sequence[str]) -> dict[str, KeywordScore]: ...


class VectorScores(Protocol):
    def cosines_of(self, embedding: Embedding, ids: Sequence[str]) -> dict[str, float]: ...


class HybridContentRetriever:
    """By meaning and by words in parallel, fused by scores that fit the query, or by ranks.

    vector, keyword  the two legs
    tokenizer        the embedding model's, or a callable that gives it: fuses adaptively; None: by ranks (RRF)
    vector_scores    gives cosines of what only the keyword leg found; without it they are estimated
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
        self._candidates = candidates
        self._executor = executor or IdleThreadExecutor()
        self._limits = Limits(**limits)

    def retrieve(self, query: Query) -> list[Content]:
        """raises RetrievalError where both legs fail"""
        limits = self._limits.of(query)
        most = max(self._candidates, limits.max_results)
        of_legs = replace(limits, max_results=most)
        by_words = self._executor.submit(self._keyword.retrieve_matching, query, of_legs)
        failures: dict[str, FootnoteError] = {}
        embedding: Embedding | None = None
        vector: list[Content] = []
        try:
            embedding = self._vector.embed(query)
            vector = self._vector.retrieve_nearest(query, embedding, of_legs)
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
        if failures:
            fused = vector or keyword
        elif self._tokenizer is None:
            fused = reciprocal_rank_fusion([vector, keyword])
        else:
            fused = self._fused(query, embedding, vector, keyword)
        return [
            content.with_scores({}, {self.name: rank}) for rank, content in enumerate(fused[: limits.max_results], 1)
        ]

    def _fused(
        self, query: Query, embedding: Embedding | None, vector: list[Content], keyword: list[Content]
    ) -> list[Content]:
        by_vector, by_keyword = {content.key for content in vector}, {content.key for content in keyword}
        only_vector = [content.id for content in vector if content.id and content.key not in by_keyword]
        only_keyword = [content.id for content in keyword if content.id and content.key not in by_vector]
        tokenizer = self._tokenizer if hasattr(self._tokenizer, "offsets") else self._tokenizer()
        fusion = AdaptiveFusion(tokenizer)
        query.metadata.invocation_parameters.put(READABLE, fusion.readable(query.text))
        return fusion.fuse(
            query.text,
            vector,
            keyword,
            cosines=self._cosines(embedding, only_keyword),
            # A list that ended by itself holds every segment with a word of the query.
            keyword_scores=self._keyword.scores_of(query, only_vector) if len(keyword) >= self._candidates else {},
        )

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
