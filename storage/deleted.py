"""Documents that were deleted and can be brought back: gone from every search, and kept whole until they're purged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from core.errors import ConfigError, NotFoundError
from core.records import DeletedDocument
from storage.collection_rows import ensured_collection_id
from storage.document_saving import Change, release_text
from storage.neutral import neutral_name
from storage.tables import collections, deleted_documents, documents, segments, texts
from storage.text_use import is_hidden, show_text

# Columns that a document takes with it and back.
_SHARED = ("id", "source", "name", "text_id", "size", "metadata", "added", "updated")


def delete_document(change: Change, document_id: int) -> None:
    connection = change.connection
    row = connection.execute(
        select(documents, collections.c.name.label("collection")).join(collections).where(documents.c.id == document_id)
    ).one()
    change.advance()
    values = {key: getattr(row, key) for key in (*_SHARED, "collection")}
    connection.execute(insert(deleted_documents).values(**values, deleted=time.time()))
    change.fault("deleted document kept")
    connection.execute(delete(documents).where(documents.c.id == document_id))
    change.fault("document row deleted")
    release_text(change, row.text_id)
    change.fault("text hidden")


def undelete_document(change: Change, document_id: int) -> None:
    """One that is back already, from another window, stays as it is.

    raises  NotFoundError (purged, or never there); ConfigError (another document has its source by now)
    """
    connection = change.connection
    row = connection.execute(select(deleted_documents).where(deleted_documents.c.id == document_id)).one_or_none()
    if row is None:
        if connection.execute(select(documents.c.id).where(documents.c.id == document_id)).first():
            return
        raise NotFoundError(f"document {document_id} can't be brought back; it's gone for good, or was never there")
    collection_id = ensured_collection_id(connection, row.collection)
    _refuse_taken(connection, row, collection_id)
    change.advance()
    values = {key: getattr(row, key) for key in _SHARED}
    connection.execute(insert(documents).values(**values, collection_id=collection_id))
    change.fault("document row written")
    connection.execute(delete(deleted_documents).where(deleted_documents.c.id == document_id))
    change.fault("deleted document forgotten")
    if is_hidden(connection, row.text_id):
        show_text(connection, row.text_id, change.advance())
    change.fault("text shown")


def purgeable(connection: Connection, document_ids: Sequence[int] | None, older_than_s: float) -> list[Row]:
    """(id, text_id) of deleted documents that may go for good; ids that aren't deleted ones are ignored."""
    limit = time.time() - older_than_s
    query = select(deleted_documents.c.id, deleted_documents.c.text_id).where(deleted_documents.c.deleted <= limit)
    rows = connection.execute(query.order_by(deleted_documents.c.id)).all()
    return [row for row in rows if document_ids is None or row.id in document_ids]


def purge_documents(change: Change, rows: Iterable[Row]) -> None:
    for row in rows:
        change.connection.execute(delete(deleted_documents).where(deleted_documents.c.id == row.id))
        change.fault("deleted document forgotten")
        release_text(change, row.text_id)
        change.fault("text deleted")


def deleted_records(connection: Connection) -> list[DeletedDocument]:
    """Newest first."""
    count = select(func.count()).select_from(segments).where(segments.c.text_id == deleted_documents.c.text_id)
    query = (
        select(deleted_documents, texts.c.type, count.scalar_subquery().label("segments"))
        .join(texts)
        .order_by(deleted_documents.c.deleted.desc(), deleted_documents.c.id.desc())
    )
    return [
        DeletedDocument(
            id=row.id,
            name=row.name,
            source=row.source,
            collection=row.collection,
            type=row.type,
            segments=row.segments,
            size=row.size,
            deleted=datetime.fromtimestamp(row.deleted, UTC),
        )
        for row in connection.execute(query)
    ]


def rename_collection(connection: Connection, name: str, new_name: str) -> None:
    """They come back to their collection, whatever it's called by then."""
    where = deleted_documents.c.collection == name
    connection.execute(update(deleted_documents).where(where).values(collection=neutral_name(new_name)))


def _refuse_taken(connection: Connection, row: Row, collection_id: int) -> None:
    taken = connection.execute(
        select(documents.c.name).where(documents.c.collection_id == collection_id, documents.c.source == row.source)
    ).scalar()
    if taken is not None:
        raise ConfigError(
            f"{row.name!r} can't be brought back: {taken!r} in collection {row.collection!r} has its source by now; "
            "delete that one first"
        )
