"""Content retrievers by name: how segments are found. A new one is one file and one line below.

An entry makes a retriever of the parts that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from core.protocols import ContentRetriever, EmbeddingModel, EmbeddingStore, KeywordIndex, SegmentReader
from core.rag.retrievers.embedding_store import EmbeddingStoreContentRetriever
from core.rag.retrievers.hybrid import HybridContentRetriever, VectorScores
from core.rag.retrievers.keyword import KeywordContentRetriever
from core.rag.retrievers.overview import OverviewContentRetriever


@dataclass(frozen=True)
class RetrieverParts:
    """What retrievers are made of. `limits`: max_results, min_score, filter and their dynamic forms (`Limits`).

    Callables are called when a part is first needed: a search by words needs no embedding model.
    """

    store: Callable[[], EmbeddingStore]
    embedding_model: Callable[[], EmbeddingModel]
    keyword_index: KeywordIndex
    vector_scores: Callable[[], VectorScores] | None = None
    segments: SegmentReader | None = None
    executor: Executor | None = None
    candidates: int = 50
    limits: dict[str, Any] = field(default_factory=dict)


def _vector(parts: RetrieverParts) -> EmbeddingStoreContentRetriever:
    """By meaning: the segments whose vectors are nearest to the question's."""
    return EmbeddingStoreContentRetriever(parts.store, parts.embedding_model, **parts.limits)


def _keyword(parts: RetrieverParts) -> KeywordContentRetriever:
    """By words: the segments that hold the question's rarest words (BM25)."""
    return KeywordContentRetriever(parts.keyword_index, **parts.limits)


def _hybrid(parts: RetrieverParts) -> HybridContentRetriever:
    """By meaning and by words in parallel, fused by scores that fit the question."""
    return _both(parts, tokenizer=lambda: parts.embedding_model().tokenizer)


def _hybrid_rrf(parts: RetrieverParts) -> HybridContentRetriever:
    """By meaning and by words in parallel, fused by ranks (RRF, k=60)."""
    return _both(parts, tokenizer=None)


def _both(parts: RetrieverParts, *, tokenizer: Any) -> HybridContentRetriever:
    return HybridContentRetriever(
        _vector(parts),
        _keyword(parts),
        tokenizer=tokenizer,
        vector_scores=parts.vector_scores,
        segments=parts.segments,
        candidates=parts.candidates,
        executor=parts.executor,
        **parts.limits,
    )


CONTENT_RETRIEVERS: dict[str, Callable[[RetrieverParts], ContentRetriever]] = {
    "hybrid": _hybrid,
    "vector": _vector,
    "keyword": _keyword,
    "hybrid_rrf": _hybrid_rrf,
}

__all__ = [
    "CONTENT_RETRIEVERS",
    "EmbeddingStoreContentRetriever",
    "HybridContentRetriever",
    "KeywordContentRetriever",
    "OverviewContentRetriever",
    "RetrieverParts",
]
