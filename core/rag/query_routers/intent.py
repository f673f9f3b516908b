"""Greetings go nowhere, questions about a whole document to its outline, everything else to the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.protocols import ContentRetriever
from core.query import Query
from core.rag.intent import PARAMETER, intent_of, read_intent


class IntentQueryRouter:
    """Small talk to no retriever, questions about a whole document to its outline, others to the search.

    search, overview  the two retrievers
    document_names    names of the documents that the query may look at, in the order that "the second file" counts

    What was decided is left in the query's invocation parameters under "intent".
    """

    def __init__(
        self,
        search: ContentRetriever,
        overview: ContentRetriever,
        document_names: Callable[[Query], Sequence[str]],
    ) -> None:
        self._search = search
        self._overview = overview
        self._document_names = document_names

    def route(self, query: Query) -> list[ContentRetriever]:
        intent = intent_of(query)
        if intent is None:
            intent = read_intent(
                query.metadata.user_message or query.text,
                has_history=any(message.role == "user" for message in query.metadata.chat_memory),
                document_names=lambda: self._document_names(query),
            )
            query.metadata.invocation_parameters.put(PARAMETER, intent)
        if intent.kind == "small_talk":
            return []
        return [self._overview if intent.kind == "overview" else self._search]
