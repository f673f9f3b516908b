"""What one save, link or delete does to the documents, inside a write transaction that its caller holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from core.errors import PartsGoneError
from core.metadata import Metadata
from core.records import FinishedDocument, IngestStatus, NewDocument, SaveResult
from storage.collection_rows import ensured_collection_id
from storage.document_rows import document_record
from storage.generation import advance
from storage.model_rows import is_complete
from storage.neutral import neutral_name, neutral_source
from storage.publishing import publish_text
from storage.tables import deleted_documents, documents, texts
from storage.text_saving import document_metadata, remove_text, write_text
from storage.text_use import FINISHED, has_deleted_document, has_document, hide_text, is_hidden, show_text
from storage.unfinished import count_parts, unfinished_id
from storage.upkeep.losses import LOST_ORIGINAL, unsay

# Known of one copy of a content, and not of another that has a name of its own.
_OF_ONE_COPY = ("url", "owner", "last_modified")


@dataclass
class Change:
    """One write transaction's change of the documents: its generation number, and the originals it made superfluous."""

    connection: Connection
    fault: Callable[[str], None]
    generation: int | None = None
    superfluous: list[tuple[str, float]] = field(default_factory=list)  # (hash, when the content was last seen)

    def advance(self) -> int:
        if self.generation is None:
            self.generation = advance(self.connection)
        return self.generation


@dataclass(frozen=True)
class _Target:
    """Where a document goes: its name and source, and the row that is replaced, if there is one."""

    collection_id: int
    source: str
    name: str
    existing: Row | None


def save_document(change: Change, new: NewDocument) -> SaveResult:
    target = _target(change.connection, new.collection, new.source, new.name, new.content_hash, new.on_conflict)
    old_text = target.existing.text_id if target.existing else None
    known = _text_id(change.connection, new.content_hash, new.pipeline)
    first = _first_place(change.connection, known, beside=new.name)
    alone = old_text is not None and _is_named_once(change.connection, old_text)
    text_id, changed = write_text(
        change.connection, new, reuse=old_text if alone else None, advance=change.advance, fault=change.fault
    )
    metadata = document_metadata(new.document.metadata).to_json()
    if not changed and target.existing and old_text == text_id and target.existing.metadata == metadata:
        return SaveResult("unchanged", document_record(change.connection, target.existing.id))
    return _put(change, target, text_id, new.size, metadata, first)


def publish_document(change: Change, finished: FinishedDocument) -> SaveResult:
    """The same for a document whose parts are kept. Parts that somebody else has published are linked to."""
    connection = change.connection
    content_hash, pipeline, model_id = finished.content_hash, finished.pipeline, finished.model_id
    staged = unfinished_id(connection, content_hash, pipeline, model_id)
    if staged is None or (finished.parts is not None and count_parts(connection, staged) < finished.parts):
        return _link_published(change, finished)
    target = _target(
        connection, finished.collection, finished.source, finished.name, content_hash, finished.on_conflict
    )
    old_text = target.existing.text_id if target.existing else None
    known = _text_id(connection, content_hash, pipeline)
    first = _first_place(connection, known, beside=finished.name)
    alone = old_text is not None and _is_named_once(connection, old_text)
    text_id, changed = publish_text(
        connection,
        finished,
        staged=staged,
        known=known,
        reuse=old_text if alone and old_text != known else None,
        advance=change.advance,
        fault=change.fault,
    )
    metadata = document_metadata(finished.metadata).to_json()
    if not changed and target.existing and old_text == text_id and target.existing.metadata == metadata:
        return SaveResult("unchanged", document_record(connection, target.existing.id))
    return _put(change, target, text_id, finished.size, metadata, first)


def _link_published(change: Change, finished: FinishedDocument) -> SaveResult:
    linked = link_document(
        change,
        source=finished.source,
        name=finished.name,
        collection=finished.collection,
        content_hash=finished.content_hash,
        size=finished.size,
        pipeline=finished.pipeline,
        model_id=finished.model_id,
        on_conflict=finished.on_conflict,
    )
    if linked is None:
        raise PartsGoneError(f"what was read of {finished.name!r} is gone; add the file again")
    return linked


def link_document(
    change: Change,
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
    """The same for a content that is there already, wholly embedded; None where it has to be parsed."""
    connection = change.connection
    text_id = _text_id(connection, content_hash, pipeline)
    if text_id is None or not is_complete(connection, text_id, model_id):
        return None
    connection.execute(update(texts).where(texts.c.id == text_id).values(seen=time.time()))
    unsay(connection, [text_id], LOST_ORIGINAL)  # its bytes have just been put again
    target = _target(connection, collection, source, name, content_hash, on_conflict)
    if target.existing is not None and target.existing.text_id == text_id:
        return SaveResult("unchanged", document_record(connection, target.existing.id))
    first = _first_place(connection, text_id, beside=name)
    metadata = _metadata_of_copy(connection, text_id)
    if is_hidden(connection, text_id):
        show_text(connection, text_id, change.advance())
    return _put(change, target, text_id, size, metadata, first)


def release_text(change: Change, text_id: int) -> None:
    """What becomes of a text that one document fewer names: it stays, is hidden until it's undeleted, or goes."""
    connection = change.connection
    if has_document(connection, text_id):
        return
    if has_deleted_document(connection, text_id):
        hide_text(connection, text_id, change.advance())
    else:
        change.superfluous.append(remove_text(connection, text_id, change.advance))


def _target(
    connection: Connection, collection: str, source: str, name: str, content_hash: str, on_conflict: str
) -> _Target:
    collection_id = ensured_collection_id(connection, collection)
    source, name = neutral_source(source), neutral_name(name)
    number = 1
    while True:
        numbered = source if number == 1 else _numbered(source, number)
        row = connection.execute(
            select(documents, texts.c.content_hash)
            .join(texts)
            .where(documents.c.collection_id == collection_id, documents.c.source == numbered)
        ).one_or_none()
        # The same bytes under a number are the copy that was kept beside the first one before.
        if row is None or row.content_hash == content_hash or on_conflict == "replace":
            shown = name if number == 1 else _numbered(name, number)
            return _Target(collection_id, numbered, shown, row)
        number += 1


def _numbered(name: str, number: int) -> str:
    """`_numbered("north/readings.txt", 2)` is "north/readings (2).txt"."""
    suffix = PurePosixPath(name).suffix
    return f"{name.removesuffix(suffix)} ({number}){suffix}"


def _put(change: Change, target: _Target, text_id: int, size: int, metadata: dict[str, Any], first: str) -> SaveResult:
    """first: the name of a document that has this content already, or nothing."""
    if target.existing is not None:
        _repoint(change, target, text_id, size, metadata)
        return SaveResult("updated", document_record(change.connection, target.existing.id))
    status: IngestStatus = "duplicate" if first else "indexed"
    document_id = _insert(change, target, text_id, size, metadata)
    return SaveResult(status, document_record(change.connection, document_id), first)


def _insert(change: Change, target: _Target, text_id: int, size: int, metadata: dict[str, Any]) -> int:
    now = time.time()
    change.advance()
    values = {"source": target.source, "name": target.name, "collection_id": target.collection_id, "text_id": text_id}
    result = change.connection.execute(
        insert(documents).values(size=size, metadata=metadata, added=now, updated=now, **values)
    )
    change.fault("document row written")
    return result.inserted_primary_key[0]


def _repoint(change: Change, target: _Target, text_id: int, size: int, metadata: dict[str, Any]) -> None:
    change.advance()
    change.connection.execute(
        update(documents)
        .where(documents.c.id == target.existing.id)
        .values(text_id=text_id, size=size, name=target.name, metadata=metadata, updated=time.time())
    )
    change.fault("document row written")
    if target.existing.text_id != text_id:
        release_text(change, target.existing.text_id)
        change.fault("old text deleted")


def _text_id(connection: Connection, content_hash: str, pipeline: str) -> int | None:
    return connection.execute(
        select(texts.c.id).where(
            texts.c.content_hash == content_hash, texts.c.pipeline == pipeline, texts.c.building == FINISHED
        )
    ).scalar()


def _first_place(connection: Connection, text_id: int | None, *, beside: str) -> str:
    """The name of the first document with this text; where that is the new one's too, its source tells them apart."""
    if text_id is None:
        return ""
    query = select(documents.c.name, documents.c.source).where(documents.c.text_id == text_id)
    first = connection.execute(query.order_by(documents.c.id).limit(1)).one_or_none()
    if first is None:
        return ""
    return first.source.removeprefix("upload:") if first.name == neutral_name(beside) else first.name


def _is_named_once(connection: Connection, text_id: int) -> bool:
    """By one document, and by none that was deleted and may come back."""
    count = select(func.count()).select_from(documents).where(documents.c.text_id == text_id)
    return connection.execute(count).scalar_one() == 1 and not has_deleted_document(connection, text_id)


def _metadata_of_copy(connection: Connection, text_id: int) -> dict[str, Any]:
    """Of the oldest document with this text, or else of the oldest that was deleted."""
    metadata = Metadata()
    for table in (documents, deleted_documents):
        query = select(table.c.metadata).where(table.c.text_id == text_id).order_by(table.c.id).limit(1)
        if (found := connection.execute(query).scalar()) is not None:
            metadata = Metadata.from_json(found)
            break
    for key in _OF_ONE_COPY:
        metadata.remove(key)
    return metadata.to_json()
