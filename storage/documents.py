"""Documents, their segments and vectors: `core.protocols.DocumentStore` over SQLite.

Every change is one transaction. Until it commits, everybody sees the old version; after it, the new one; and a kill at
any point leaves one of the two. Originals are removed after the commit that made them superfluous.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from sqlalchemy import func, select

from core.domain import Document
from core.errors import DocumentError
from core.records import (
    CollectionRecord,
    DeletedDocument,
    DocumentRecord,
    FinishedDocument,
    NewDocument,
    NewPart,
    SaveResult,
    SegmentRecord,
    Unfinished,
)
from storage import collection_rows, deleted, document_rows
from storage.batches import batched
from storage.database import Database
from storage.document_saving import Change, link_document, publish_document, save_document
from storage.files import LocalFileStore
from storage.generation import current
from storage.model_rows import model_row
from storage.neutral import neutral_source
from storage.originals import forget_superfluous, is_referenced, superfluous
from storage.segment_rows import load_segments
from storage.tables import collections, documents, segments, vectors
from storage.text_use import abandoned_texts, drop_parts_of_other_settings, drop_text
from storage.unfinished import (
    add_part,
    checked_vectors,
    part_name,
    unfinished_ids,
    unfinished_parts,
)
from storage.vectors import from_blobs

logger = logging.getLogger(__name__)


class SqliteDocumentStore:
    """Documents in the database, originals in `files`. Thread-safe."""

    def __init__(self, database: Database, files: LocalFileStore) -> None:
        self._database = database
        self._files = files

    def generation(self) -> int:
        with self._database.read() as connection:
            return current(connection).number

    # ── changes ──

    def save(self, new: NewDocument) -> SaveResult:
        """Make a document visible, or replace its old version, at once; unchanged segments keep their id and vector.

        status  indexed; duplicate (the content was there under another name); updated; unchanged
        raises  ConfigError (vectors that don't fit), DocumentError (nothing to search in it), StorageError
        """
        checked = _checked(new)
        with self._change() as change:
            result = save_document(change, checked)
            drop_parts_of_other_settings(change.connection, new.content_hash, new.pipeline)
        logger.info("saved document %d: %s, %d segments", result.document.id, result.status, result.document.segments)
        return result

    def link_existing(
        self,
        *,
        source: str,
        name: str,
        collection: str,
        content_hash: str,
        size: int,
        pipeline: str,
        model_id: str,
        on_conflict: str,
    ) -> SaveResult | None:
        with self._change() as change:
            result = link_document(
                change,
                source=source,
                name=name,
                collection=collection,
                content_hash=content_hash,
                size=size,
                pipeline=pipeline,
                model_id=model_id,
                on_conflict=on_conflict,
            )
            if result is not None:
                drop_parts_of_other_settings(change.connection, content_hash, pipeline)
        return result

    # ── a long document, part by part ──

    def unfinished(self, content_hash: str, pipeline: str, model_id: str) -> Unfinished | None:
        """What an interrupted ingest of these bytes has kept; None where it must begin at the beginning."""
        with self._database.read() as connection:
            return unfinished_parts(connection, content_hash, pipeline, model_id)

    def add_part(self, part: NewPart) -> None:
        """Keep a part, invisible to everybody, in one transaction. One with this number that is kept already stays.

        raises  ConfigError (vectors that don't fit), StorageError (also where the parts before it are gone)
        """
        vectors = checked_vectors(part_name(part), part.segments, part.vectors, part.terms)
        with self._change() as change:
            add_part(change.connection, replace(part, vectors=vectors), change.fault)

    def publish(self, finished: FinishedDocument) -> SaveResult:
        """Make all parts visible at once, as `save` does. Where others have published them meanwhile, link to those.

        raises  DocumentError (nothing to search in it), StorageError (also where the parts are gone)
        """
        with self._change() as change:
            result = publish_document(change, finished)
            drop_parts_of_other_settings(change.connection, finished.content_hash, finished.pipeline)
        document = result.document
        logger.info("published document %d: %s, %d segments", document.id, result.status, document.segments)
        return result

    def discard_unfinished(self, content_hash: str, pipeline: str) -> None:
        """Forget parts that nobody will go on with, whichever model they're for. The original stays."""
        with self._change() as change:
            for text_id in unfinished_ids(change.connection, content_hash, pipeline):
                drop_text(change.connection, text_id)

    # ── deleting ──

    def delete(self, document_id: int) -> DocumentRecord:
        """Gone from every search at once; `undelete` brings it back until `purge_deleted`. Returns what it was."""
        with self._change() as change:
            record = document_rows.document_record(change.connection, document_id)
            deleted.delete_document(change, document_id)
        return record

    def deleted(self) -> list[DeletedDocument]:
        """Newest first."""
        with self._database.read() as connection:
            return deleted.deleted_records(connection)

    def undelete(self, document_id: int) -> DocumentRecord:
        """Back with its id, segments and vectors, and its collection where that is gone.

        raises  NotFoundError (purged, or never there); ConfigError (another document has its source by now)
        """
        with self._change() as change:
            deleted.undelete_document(change, document_id)
            return document_rows.document_record(change.connection, document_id)

    def purge_deleted(self, *, document_ids: Sequence[int] | None = None, older_than_s: float = 0) -> int:
        """Delete for good, the originals too; all of them, or those that are named. Returns how many documents."""
        with self._database.read() as connection:
            if not deleted.purgeable(connection, document_ids, older_than_s):
                return 0
        with self._change() as change:
            rows = deleted.purgeable(change.connection, document_ids, older_than_s)
            deleted.purge_documents(change, rows)
        return len(rows)

    def delete_collection(self, name: str) -> int:
        """With its documents, each of which can be brought back, and brings its collection back. Returns how many."""
        with self._change() as change:
            row_id = collection_rows.collection_id(change.connection, name)
            ids = change.connection.execute(select(documents.c.id).where(documents.c.collection_id == row_id))
            ids = ids.scalars().all()
            for document_id in ids:
                deleted.delete_document(change, document_id)
            change.connection.execute(collections.delete().where(collections.c.id == row_id))
        return len(ids)

    def sweep(self) -> int:
        """Finish what a crash left: originals that a commit made superfluous go, and parts that no job goes on with.

        Returns how many of both. For the start of the app; cheap where there is nothing.
        """
        with self._database.read() as connection:
            files, parts = superfluous(connection), abandoned_texts(connection)
        for text_id in parts:
            with self._change() as change:
                if text_id in abandoned_texts(change.connection):
                    drop_text(change.connection, text_id)
        for row in files:
            self._remove_original(row.content_hash, row.seen)
        return len(files) + len(parts)

    def add_collection(self, name: str) -> CollectionRecord:
        with self._database.write("collection added") as connection:
            collection_rows.insert_collection(connection, name)
            return collection_rows.collection_records(connection, collection_rows.checked_name(name))[0]

    def rename_collection(self, name: str, new_name: str) -> None:
        with self._change() as change:
            collection_rows.rename_collection(change.connection, name, new_name)
            deleted.rename_collection(change.connection, name, new_name)
            change.advance()  # filters name collections

    # ── questions ──

    def find(self, source: str, collection: str) -> DocumentRecord | None:
        query = document_rows.document_query().where(
            documents.c.source == neutral_source(source), collections.c.name == collection
        )
        with self._database.read() as connection:
            return next(iter(document_rows.document_records(connection, query)), None)

    def get(self, document_id: int) -> DocumentRecord:
        with self._database.read() as connection:
            return document_rows.document_record(connection, document_id)

    def list(
        self, *, collection: str | None = None, search: str = "", limit: int | None = None, offset: int = 0
    ) -> list[DocumentRecord]:
        """Oldest first; `search` looks in names and sources, whatever the case."""
        query = document_rows.matching(document_rows.document_query(), collection=collection, search=search)
        query = query.limit(-1 if limit is None else limit).offset(offset)
        with self._database.read() as connection:
            return document_rows.document_records(connection, query)

    def count(self, *, collection: str | None = None) -> int:
        query = select(func.count()).select_from(documents).join(collections)
        query = document_rows.matching(query, collection=collection, search="")
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def text(self, document_id: int) -> Document:
        with self._database.read() as connection:
            return document_rows.document_text(connection, document_id)

    def excerpt(self, document_id: int, start: int, end: int) -> str:
        """The characters start to end of its text, without reading the rest of a long one."""
        with self._database.read() as connection:
            return document_rows.document_excerpt(connection, document_id, start, end)

    def segments(self, document_id: int, *, limit: int | None = None, offset: int = 0) -> list[SegmentRecord]:
        with self._database.read() as connection:
            return document_rows.document_segments(connection, document_id, limit=limit, offset=offset)

    def segment(self, segment_id: str) -> SegmentRecord:
        """Of several documents with the same content, the oldest lends its metadata. A free entry has document 0."""
        with self._database.read() as connection:
            row = document_rows.segment_row(connection, segment_id)
            found = load_segments(connection, [row.id])[row.id]
            return SegmentRecord(found.uid, found.document_id or 0, found.segment)

    def neighbours(self, segment_id: str, distance: int) -> list[SegmentRecord]:
        with self._database.read() as connection:
            return document_rows.neighbour_segments(connection, segment_id, distance)

    def collections(self) -> list[CollectionRecord]:
        with self._database.read() as connection:
            return collection_rows.collection_records(connection)

    def vectors_for(self, hashes: Sequence[str], model_id: str) -> dict[str, np.ndarray]:
        """hash of the embedded text -> its vector, shape (dimension,), float32, length 1; only those that exist.

        A damaged one doesn't: its text is embedded again.
        """
        found: dict[str, np.ndarray] = {}
        with self._database.read() as connection:
            model = model_row(connection, model_id)
            if model is None:
                return {}
            query = select(segments.c.embedded_hash, vectors.c.vector).join(vectors)
            whole = func.length(vectors.c.vector) == 4 * model.dimension
            query = query.where(vectors.c.model_id == model.id, whole)
            for piece in batched(dict.fromkeys(hashes)):
                for embedded_hash, blob in connection.execute(query.where(segments.c.embedded_hash.in_(piece))):
                    vector = from_blobs([blob], model.dimension)[0]
                    if np.isfinite(vector).all() and vector.any():
                        found[embedded_hash] = vector
        return found

    # ── inside ──

    @contextmanager
    def _change(self) -> Iterator[Change]:
        fault = self._database.fault
        with self._database.write() as connection:
            change = Change(connection, fault)
            yield change
            fault("before commit")
        fault("committed")
        for content_hash, seen in change.superfluous:
            self._remove_original(content_hash, seen)

    def _remove_original(self, content_hash: str, seen: float) -> None:
        # In a transaction of its own, so that no job that needs the file can be added between look and delete.
        with self._database.write() as connection:
            if not is_referenced(connection, content_hash):
                self._files.remove(content_hash, unless_put_after=seen)
            self._database.fault("original removed")
            forget_superfluous(connection, content_hash)
        self._database.fault("original forgotten")


def _checked(new: NewDocument) -> NewDocument:
    if not new.segments:
        raise DocumentError(f"{new.name!r} holds no text that could be searched", file_name=new.name)
    return replace(new, vectors=checked_vectors(new.name, new.segments, new.vectors, new.terms))
