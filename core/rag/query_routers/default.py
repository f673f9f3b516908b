"""Every query to every retriever."""

from __future__ import annotations

from collections.abc import Sequence

from core.protocols import ContentRetriever
from core.query import Query


class DefaultQueryRouter:
    """Every query to every retriever."""

    def __init__(self, *retrievers: ContentRetriever) -> None:
        self._retrievers: Sequence[ContentRetriever] = retrievers

    def route(self, query: Query) -> list[ContentRetriever]:
        return list(self._retrievers)
