"""By meaning: the segments whose vectors are nearest to the query's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from core.domain import Content, Embedding, EmbeddingRequest, EmbeddingSearchRequest, InputType
from core.ingest import default_embedding_model
from core.protocols import EmbeddingModel, EmbeddingStore
from core.query import Query
from core.rag.retrievers.limits import Limits
from core.rag.retrievers.unread import UNREAD


class EmbeddingStoreContentRetriever:
    """By meaning: the segments whose vectors are nearest to the question's.

    store, model          or a callable that gives them when they are first needed; model None: the store's, else the
                          default of the settings
    embedding_input_type  None sends none; "query" for models that have a query prefix
    limits                max_results (3), min_score, filter, and dynamic_… for each; see `Limits`
    """

    name = "vector"

    def __init__(
        self,
        store: EmbeddingStore | Callable[[], EmbeddingStore],
        model: EmbeddingModel | Callable[[], EmbeddingModel] | None = None,
        *,
        embedding_input_type: InputType | None = None,
        **limits: Any,
    ) -> None:
        self._store = store
        self._model = model or getattr(store, "embedding_model", None) or default_embedding_model
        self._input_type = embedding_input_type
        self._limits = Limits(**limits)

    @classmethod
    def from_store(cls, store: EmbeddingStore, **options: Any) -> EmbeddingStoreContentRetriever:
        """Easy mode: the store's own model, else the one of the settings, which easy mode fills stores with."""
        return cls(store, **options)

    def retrieve(self, query: Query) -> list[Content]:
        return self.retrieve_nearest(query, self.embed(query))

    def embed(self, query: Query) -> Embedding:
        """The query as a vector of length 1."""
        model = self._model() if _is_factory(self._model, "embed_request") else self._model
        request = EmbeddingRequest((query.text,), input_type=self._input_type)
        return Embedding(model.embed_request(request).vectors[0])

    def retrieve_nearest(
        self, query: Query, embedding: Embedding, limits: Limits | None = None, *, unread: bool = False
    ) -> list[Content]:
        """`retrieve` with the vector at hand; entries without a segment are left out.

        unread  contents may come without their text, where the store can search so; see `unread.py`
        """
        limits = limits or self._limits.of(query)
        store = self._store() if _is_factory(self._store, "search") else self._store
        request = EmbeddingSearchRequest(embedding, limits.max_results, limits.min_score, limits.filter)
        if unread and hasattr(store, "search_ids"):
            return [
                Content(UNREAD, id, None, {"cosine": cosine, "score": (cosine + 1) / 2}, {self.name: rank})
                for rank, (id, cosine) in enumerate(store.search_ids(request), 1)
            ]
        matches = store.search(request)
        contents = [
            Content(match.segment, match.id, match.document_id, {"cosine": match.cosine, "score": match.score})
            for match in matches
            if match.segment is not None
        ]
        return [replace(content, ranks={self.name: rank}) for rank, content in enumerate(contents, 1)]


def _is_factory(part: object, method: str) -> bool:
    return callable(part) and not hasattr(part, method)
