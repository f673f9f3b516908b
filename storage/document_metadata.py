"""What is known about the documents of a text, with the keys that every document has: collection, file_name, source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import Connection, select

from core.metadata import Metadata
from storage.lookups import ASKED, rows_of
from storage.tables import collections, documents

# These belong to the document: a segment's own value under such a key never counts.
DOCUMENT_KEYS = frozenset({"document_id", "collection", "file_name", "source"})

DocumentsOfText = dict[int, list[tuple[int, Metadata]]]


def documents_of_texts(connection: Connection, text_ids: Iterable[int] | None = None) -> DocumentsOfText:
    """text id -> its documents, oldest first, each (document id, metadata); all texts where none are named."""
    rows = connection.execute(_DOCUMENTS).all() if text_ids is None else rows_of(connection, _OF_TEXTS, text_ids)
    found: DocumentsOfText = defaultdict(list)
    for row in rows:
        metadata = Metadata.from_json(row.metadata).put_all(
            {"file_name": row.name, "source": row.source, "collection": row.collection}
        )
        found[row.text_id].append((row.id, metadata))
    return found


_DOCUMENTS = (
    select(
        documents.c.id,
        documents.c.text_id,
        documents.c.metadata,
        documents.c.name,
        documents.c.source,
        collections.c.name.label("collection"),
    )
    .join(collections)
    .order_by(documents.c.id)
)
_OF_TEXTS = _DOCUMENTS.where(documents.c.text_id.in_(ASKED))


def for_filter(document_id: int, metadata: Metadata) -> Metadata:
    """The same with `document_id`, which filters may name and which no segment carries around."""
    return metadata.copy().put("document_id", document_id)


def merged(document: Metadata, own: Metadata) -> Metadata:
    """A segment's metadata as it is seen: the document's, then its own; the document's keys can't be taken over."""
    values = {key: value for key, value in own.to_dict().items() if key not in DOCUMENT_KEYS}
    return document.copy().put_all(values)
