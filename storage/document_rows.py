"""Documents read back as records."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from sqlalchemy import Connection, Row, Select, func, or_, select

from core.domain import Document
from core.errors import NotFoundError
from core.metadata import Metadata
from core.records import DocumentRecord, SegmentRecord
from storage.batches import batched
from storage.document_metadata import documents_of_texts, merged
from storage.segment_rows import COLUMNS, as_segment, own_metadata
from storage.tables import DOCUMENT_STORE, collections, documents, is_visible, segments, texts
from storage.text_parts import excerpt, whole_text

_SEGMENTS_OF_TEXT = (
    select(func.count())
    .select_from(segments)
    .where(segments.c.text_id == texts.c.id)
    .correlate(texts)
    .scalar_subquery()
)


def document_query() -> Select:
    """One row a document, with what its text says about it; oldest first."""
    return (
        select(
            documents,
            collections.c.name.label("collection"),
            texts.c.content_hash,
            texts.c.type,
            texts.c.pages,
            texts.c.characters,
            texts.c.warnings,
            _SEGMENTS_OF_TEXT.label("segments"),
        )
        .join(collections, documents.c.collection_id == collections.c.id)
        .join(texts, documents.c.text_id == texts.c.id)
        .order_by(documents.c.id)
    )


def matching(query: Select, *, collection: str | None, search: str) -> Select:
    """Only one collection, and only names and sources that hold `search`, whatever its case."""
    if collection is not None:
        query = query.where(collections.c.name == collection)
    if search.strip():
        # instr, not LIKE: a search for "100%" has no wildcard in it.
        wanted = search.strip().casefold()
        query = query.where(
            or_(
                func.instr(func.fold(documents.c.name), wanted) > 0,
                func.instr(func.fold(documents.c.source), wanted) > 0,
            )
        )
    return query


def document_records(connection: Connection, query: Select) -> list[DocumentRecord]:
    rows = connection.execute(query).all()
    names = _names_by_text(connection, {row.text_id for row in rows})
    return [_record(row, names[row.text_id]) for row in rows]


def document_record(connection: Connection, document_id: int) -> DocumentRecord:
    """raises NotFoundError."""
    found = document_records(connection, document_query().where(documents.c.id == document_id))
    if not found:
        raise _no_document(document_id)
    return found[0]


def document_text(connection: Connection, document_id: int) -> Document:
    text_id, metadata = _text_of(connection, document_id)
    text, marks = whole_text(connection, text_id)
    return Document(text, metadata, marks)


def document_excerpt(connection: Connection, document_id: int, start: int, end: int) -> str:
    text_id = connection.execute(select(documents.c.text_id).where(documents.c.id == document_id)).scalar()
    if text_id is None:
        raise _no_document(document_id)
    return excerpt(connection, text_id, start, end)


def document_segments(
    connection: Connection, document_id: int, *, limit: int | None = None, offset: int = 0
) -> list[SegmentRecord]:
    text_id, metadata = _text_of(connection, document_id)
    query = select(*COLUMNS).where(segments.c.text_id == text_id).limit(-1 if limit is None else limit).offset(offset)
    return _segment_records(connection, query, document_id, metadata)


def neighbour_segments(connection: Connection, uid: str, distance: int) -> list[SegmentRecord]:
    """Segments with index within ± distance of this one, itself included; a free one has no neighbours."""
    hit = segment_row(connection, uid)
    if hit.text_id is None:
        return [SegmentRecord(uid, 0, as_segment(hit, own_metadata(hit)))]
    document_id, metadata = documents_of_texts(connection, [hit.text_id])[hit.text_id][0]
    query = select(*COLUMNS).where(
        segments.c.text_id == hit.text_id,
        segments.c.position.between(hit.position - distance, hit.position + distance),
    )
    return _segment_records(connection, query, document_id, metadata)


def segment_row(connection: Connection, uid: str) -> Row:
    """raises NotFoundError, also for an entry without a segment."""
    query = select(*COLUMNS).where(segments.c.uid == uid, segments.c.text.is_not(None), is_visible)
    # Ids are unique in one store; that of the documents comes first.
    row = connection.execute(query.order_by(segments.c.store != DOCUMENT_STORE).limit(1)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no segment {uid!r}; its document may have changed or been deleted")
    return row


def _segment_records(
    connection: Connection, query: Select, document_id: int, metadata: Metadata
) -> list[SegmentRecord]:
    return [
        SegmentRecord(row.uid, document_id, as_segment(row, merged(metadata, own_metadata(row))))
        for row in connection.execute(query.order_by(segments.c.position))
    ]


def _text_of(connection: Connection, document_id: int) -> tuple[int, Metadata]:
    text_id = connection.execute(select(documents.c.text_id).where(documents.c.id == document_id)).scalar()
    if text_id is None:
        raise _no_document(document_id)
    return text_id, dict(documents_of_texts(connection, [text_id])[text_id])[document_id]


def _no_document(document_id: int) -> NotFoundError:
    return NotFoundError(f"there is no document {document_id}; it may have been deleted")


def _names_by_text(connection: Connection, text_ids: set[int]) -> dict[int, list[tuple[int, str]]]:
    names: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for piece in batched(sorted(text_ids)):
        query = select(documents.c.text_id, documents.c.id, documents.c.name).where(documents.c.text_id.in_(piece))
        for text_id, document_id, name in connection.execute(query.order_by(documents.c.id)):
            names[text_id].append((document_id, name))
    return names


def _record(row: Row, names: list[tuple[int, str]]) -> DocumentRecord:
    return DocumentRecord(
        id=row.id,
        source=row.source,
        name=row.name,
        collection=row.collection,
        type=row.type,
        state="indexed",
        pages=row.pages,
        segments=row.segments,
        characters=row.characters,
        added=datetime.fromtimestamp(row.added, UTC),
        updated=datetime.fromtimestamp(row.updated, UTC),
        content_hash=row.content_hash,
        size=row.size,
        warnings=tuple(row.warnings),
        metadata=Metadata.from_json(row.metadata).to_dict(),
        shared_with=tuple(name for document_id, name in names if document_id != row.id),
    )
