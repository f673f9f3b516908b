"""Search for people and programs: the steps that a question of the chat goes through, without the chat model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from core.domain import ChatMessage, Content
from core.errors import ConfigError
from core.filters import Filter
from core.grounding.refusal import RefusalCheck
from core.protocols import DocumentStore, EmbeddingModel, EmbeddingStore, KeywordIndex, SegmentReader
from core.query import InvocationParameters, Query, QueryMetadata
from core.rag.aggregators.score_sum import ScoreSumContentAggregator
from core.rag.augmentor import AugmentationResult, AugmentationTrace, DefaultRetrievalAugmentor
from core.rag.executor import IdleThreadExecutor
from core.rag.query_routers import DefaultQueryRouter, IntentQueryRouter
from core.rag.query_transformers import QUERY_TRANSFORMERS
from core.rag.retrievers import CONTENT_RETRIEVERS, OverviewContentRetriever, RetrieverParts
from core.rag.retrievers.hybrid import VectorScores
from core.rag.scope import PARAMETER as SCOPE
from core.rag.scope import Scope, scope_filter
from core.registry import lookup
from core.settings import Settings
from core.text.terms import query_terms


@dataclass(frozen=True)
class SearchResult:
    """`contents` best first, each with every score and rank. `timings`: seconds of each step."""

    query: str
    seconds: float
    contents: tuple[Content, ...]
    timings: Mapping[str, float]
    trace: AugmentationTrace


class SearchService:
    """Finds segments. Any thread; holds no state of a search.

    store, embedding_model, vector_scores  callables, called when first needed: a search by words needs no model
    segments  reads what a search keeps; without it each leg reads all of its candidates
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: Callable[[], EmbeddingStore],
        embedding_model: Callable[[], EmbeddingModel],
        keyword_index: KeywordIndex,
        documents: DocumentStore,
        vector_scores: Callable[[], VectorScores] | None = None,
        segments: SegmentReader | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.documents = documents
        self._settings = settings
        self._store = store
        self._embedding_model = embedding_model
        self._keyword_index = keyword_index
        self._vector_scores = vector_scores
        self._segments = segments
        self._executor = executor or IdleThreadExecutor()
        self.refusal_check = RefusalCheck(lambda: embedding_model().tokenizer)

    @property
    def embedding_model(self) -> EmbeddingModel:
        """raises ModelError where it's missing"""
        return self._embedding_model()

    def search(
        self,
        text: str,
        *,
        limit: int = 6,
        retriever: str | None = None,
        collection: str | None = None,
        document_ids: Sequence[int] = (),
        filter: Filter | None = None,
        min_score: float | None = None,
        history: Sequence[ChatMessage] = (),
    ) -> SearchResult:
        """The best segments for a text. Every text is searched for, a greeting too; one without a word finds nothing.

        retriever  a name of `CONTENT_RETRIEVERS`; None is the setting
        history    the turns before, oldest first; a follow-up is searched with what it follows
        raises     UnknownNameError, ConfigError (limit, min_score, filter), RetrievalError (all that was asked failed)
        """
        if limit < 1:
            raise ConfigError(f"limit={limit} must be at least 1")
        started = time.perf_counter()
        if not query_terms(text):  # nothing that a segment could be near to
            return SearchResult(text, 0.0, (), {}, AugmentationTrace("search", (text,), (), (), (), {}))
        query = self.query(text, scope=Scope(collection, tuple(document_ids), filter), history=history)
        augmentor = self.augmentor(retriever=retriever, limit=limit, min_score=min_score, reads_intent=False)
        found = augmentor.augment(query)
        return SearchResult(text, time.perf_counter() - started, found.contents, dict(found.trace.seconds), found.trace)

    def query(
        self,
        text: str,
        *,
        scope: Scope | None = None,
        history: Sequence[ChatMessage] = (),
        memory_id: str | None = None,
        parameters: InvocationParameters | None = None,
    ) -> Query:
        """A query that looks at `scope` only, and knows the turns before."""
        parameters = InvocationParameters(parameters.to_dict() if parameters else {})
        parameters.put(SCOPE, scope or Scope())
        return Query(text, QueryMetadata(text, memory_id, tuple(history), parameters))

    def augmentor(
        self,
        *,
        retriever: str | None = None,
        limit: int | None = None,
        min_score: float | None = None,
        min_share: float = 0.0,
        reads_intent: bool = True,
    ) -> DefaultRetrievalAugmentor:
        """The steps of a question: carry-over, what it wants, search, fusion. No injector: the chat packs its prompt.

        The documents looked at are those of the query's scope; see `query`.
        """
        settings = self._settings
        limit = settings.max_results if limit is None else limit
        candidates = max(settings.candidates, limit)
        parts = RetrieverParts(
            self._store,
            self._embedding_model,
            self._keyword_index,
            self._vector_scores,
            self._segments,
            self._executor,
            candidates,
            self._limits(candidates, min_score),
        )
        search = lookup(CONTENT_RETRIEVERS, retriever or settings.retriever, kind="retriever")(parts)
        overview = OverviewContentRetriever(self.documents, max_results=limit)

        def names(query: Query) -> list[str]:
            return [document.name for document in overview.documents_in_scope(query)]

        return DefaultRetrievalAugmentor(
            query_transformer=lookup(QUERY_TRANSFORMERS, settings.query_transformer, kind="query transformer")(),
            query_router=IntentQueryRouter(search, overview, names) if reads_intent else DefaultQueryRouter(search),
            content_aggregator=ScoreSumContentAggregator(),
            executor=self._executor,
            max_contents=limit,
            min_share=min_share,
        )

    def augment(
        self, text: str, *, scope: Scope | None = None, history: Sequence[ChatMessage] = (), **options: Any
    ) -> AugmentationResult:
        """What the chat asks for: contents for a message, and how they came about. options: those of `augmentor`."""
        return self.augmentor(**options).augment(self.query(text, scope=scope, history=history))

    def _limits(self, candidates: int, min_score: float | None) -> dict[str, Any]:
        return {
            "max_results": candidates,
            "min_score": self._settings.min_score if min_score is None else min_score,
            "dynamic_filter": scope_filter,
        }
