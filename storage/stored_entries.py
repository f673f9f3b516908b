"""Entries of an embedding store in the database: the segments of documents, and those that were added by themselves.

A store is a name; the one of the documents is "main". Entries are searched with the vectors of one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select

from core.domain import TextSegment, text_hash
from core.errors import ConfigError
from core.metadata import Metadata
from storage.batches import batched
from storage.document_metadata import documents_of_texts, for_filter, merged
from storage.generation import log_removed
from storage.model_rows import ensured_model_id, model_row
from storage.neutral import neutral_metadata, neutral_text
from storage.segment_rows import COLUMNS, as_segment, own_metadata
from storage.tables import DOCUMENT_STORE, embedding_models, is_visible, segments, vectors
from storage.vectors import from_blobs, to_blob


@dataclass(frozen=True)
class StoredEntry:
    """`seen_as`: per document that shares it, oldest first, (document id, metadata for filters, segment).

    An entry that was added by itself is seen once, with document None; without a segment it has no metadata either.
    """

    uid: str
    vector: np.ndarray
    seen_as: tuple[tuple[int | None, Metadata | None, TextSegment | None], ...]


def read_documents(connection: Connection, model_id: str) -> list[StoredEntry]:
    """The segments of all documents that this model has made vectors of, oldest first."""
    model = model_row(connection, model_id)
    if model is None:
        return []
    known = documents_of_texts(connection)
    query = with_vectors(DOCUMENT_STORE, model, *COLUMNS).where(segments.c.text_id.is_not(None))
    entries = []
    for row in connection.execute(query.order_by(segments.c.id)):
        own = own_metadata(row)
        seen = []
        for document_id, metadata in known.get(row.text_id, ()):
            whole = merged(metadata, own)
            seen.append((document_id, for_filter(document_id, whole), as_segment(row, whole)))
        entries.append(StoredEntry(row.uid, from_blobs([row.vector], model.dimension)[0], tuple(seen)))
    return entries


def with_vectors(store: str, model: Row, *columns: ColumnElement) -> Select:
    """Columns of the store's visible segments and `vector`; a damaged vector, of another size, is left to `check`."""
    return (
        select(*columns, vectors.c.vector)
        .join(vectors, vectors.c.segment_id == segments.c.id)
        .where(
            segments.c.store == store,
            is_visible,
            vectors.c.model_id == model.id,
            func.length(vectors.c.vector) == 4 * model.dimension,
        )
    )


def unsearchable(connection: Connection, model_id: str, store: str = DOCUMENT_STORE) -> str | None:
    """A sentence where the store has vectors, but by other models only; else None."""
    by_model = dict(
        connection.execute(
            select(embedding_models.c.name, func.count())
            .select_from(vectors)
            .join(embedding_models)
            .join(segments)
            .where(segments.c.store == store, is_visible)
            .group_by(embedding_models.c.name)
        ).all()
    )
    if not by_model or model_id in by_model:
        return None
    name, count = max(by_model.items(), key=lambda item: item[1])
    return (
        f"the {count} segments here were embedded by {name!r}, and none by {model_id!r}; choose that embedding model "
        "again, or re-index the documents with the new one"
    )


def write_entries(
    connection: Connection,
    entries: Sequence[tuple[str, np.ndarray, TextSegment | None]],
    *,
    store: str,
    model_id: str,
    generation: int,
    terms: Callable[[str], str],
) -> None:
    """Add entries (id, vector of length 1, segment); a known id is replaced.

    raises  ConfigError for the id of a document's segment, or vectors of another dimension than the model's
    """
    entries = list({entry[0]: entry for entry in entries}.values())
    remove_entries(connection, [uid for uid, _, _ in entries], store=store, generation=generation)
    model = ensured_model_id(connection, model_id, len(entries[0][1]))
    for uid, vector, segment in entries:
        values = {"uid": uid, "store": store, "generation": generation, "metadata": {}, "terms": ""}
        if segment is not None:
            values |= _segment_values(segment, terms)
        segment_id = connection.execute(insert(segments).values(**values)).inserted_primary_key[0]
        connection.execute(insert(vectors).values(segment_id=segment_id, model_id=model, vector=to_blob(vector)))


def remove_entries(connection: Connection, uids: Iterable[str], *, store: str, generation: int) -> None:
    """Remove free entries; unknown ids are ignored. raises ConfigError for the segment of a document."""
    for piece in batched(uids):
        query = select(segments.c.id, segments.c.uid, segments.c.text_id).where(
            segments.c.store == store, segments.c.uid.in_(piece)
        )
        remove_rows(connection, connection.execute(query).all(), generation)


def remove_rows(connection: Connection, rows: Sequence, generation: int) -> None:
    """rows: (id, uid, text_id). raises ConfigError for the segment of a document, before anything is done."""
    for row in rows:
        if row.text_id is not None:
            raise belongs_to_document(row.uid)
    log_removed(connection, generation, [row.id for row in rows])
    for piece in batched(row.id for row in rows):
        connection.execute(delete(segments).where(segments.c.id.in_(piece)))


def belongs_to_document(uid: str) -> ConfigError:
    return ConfigError(f"entry {uid!r} is part of a document, which goes as a whole; delete the document instead")


def _segment_values(segment: TextSegment, terms: Callable[[str], str]) -> dict[str, object]:
    text = neutral_text(segment.text, keep_returns=True)
    embedded = segment.embedded_text
    return {
        "start": segment.start,
        "stop": segment.end,
        "text": text,
        "embedded_text": None if embedded is None else neutral_text(embedded, keep_returns=True),
        "embedded_hash": text_hash(segment.text_to_embed),
        "metadata": neutral_metadata(segment.metadata).to_json(),
        "terms": terms(text),
    }
