"""Whole documents at a glance: how each begins, and how each of its sections does."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain import Content
from core.errors import NotFoundError
from core.protocols import DocumentStore
from core.query import Query
from core.rag.intent import intent_of
from core.rag.scope import scope_of
from core.records import DocumentRecord, SegmentRecord

_MOST_DOCUMENTS = 12


class OverviewContentRetriever:
    """How the documents in scope begin, and the first segment of each section, in reading order.

    documents    newest first where there are too many of them
    max_results  shared between the documents; each gets its opening first
    """

    name = "overview"

    def __init__(self, documents: DocumentStore, *, max_results: int = 6) -> None:
        self._documents = documents
        self._max_results = max_results

    def retrieve(self, query: Query) -> list[Content]:
        documents = self.documents_in_scope(query)
        intent = intent_of(query)
        if intent is not None and intent.document is not None:
            documents = [document for document in documents if document.name == intent.document]
        elif intent is not None and intent.ordinal is not None:
            place = intent.ordinal if intent.ordinal < 0 else intent.ordinal - 1
            documents = documents[place:][:1]
        documents = documents[-min(_MOST_DOCUMENTS, self._max_results) :]
        outlines = [_outline(self._documents.segments(document.id)) for document in documents]
        chosen = [
            record
            for outline, share in zip(outlines, _shares([len(o) for o in outlines], self._max_results), strict=True)
            for record in _spread(outline, share)
        ]
        return [
            Content(record.segment, record.id, record.document_id, ranks={self.name: rank})
            for rank, record in enumerate(chosen, 1)
        ]

    def documents_in_scope(self, query: Query) -> list[DocumentRecord]:
        """In the order they were added: what "the second file" counts."""
        scope = scope_of(query)
        if not scope.document_ids:
            return sorted(self._documents.list(collection=scope.collection), key=lambda document: document.id)
        found = []
        for document_id in sorted(scope.document_ids):
            try:
                found.append(self._documents.get(document_id))
            except NotFoundError:
                continue  # deleted since it was chosen
        return [document for document in found if scope.collection in (None, document.collection)]


def _outline(records: Sequence[SegmentRecord]) -> list[SegmentRecord]:
    """The opening, and the first segment under each heading; of text without headings its first segments."""
    seen: set[str] = set()
    first_of_sections = []
    for record in records:
        heading = record.segment.metadata.get_string("heading_path") or ""
        if heading not in seen:
            seen.add(heading)
            first_of_sections.append(record)
    return first_of_sections if len(first_of_sections) > 1 else list(records)


def _shares(lengths: Sequence[int], total: int) -> list[int]:
    """Places for each document, one at a time in turn, until there are no more places or segments."""
    shares = [0] * len(lengths)
    while total and any(share < length for share, length in zip(shares, lengths, strict=True)):
        for number, length in enumerate(lengths):
            if total and shares[number] < length:
                shares[number] += 1
                total -= 1
    return shares


def _spread(outline: Sequence[SegmentRecord], share: int) -> list[SegmentRecord]:
    """The first one, and the rest evenly over the whole."""
    if share <= 1:
        return list(outline[:share])
    last = len(outline) - 1
    return [outline[round(number * last / (share - 1))] for number in range(share)]
