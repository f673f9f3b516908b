"""One parsed content and its segments: written, brought up to date in place, or removed.

A segment whose text and embedded text stay the same keeps its row, its uid and its vectors, wherever it moved to.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, text, update

from core.domain import TextSegment, text_hash
from core.metadata import Metadata
from core.records import NewDocument
from storage.batches import batched
from storage.document_metadata import DOCUMENT_KEYS
from storage.generation import log_removed
from storage.model_rows import embedded_ids, ensured_model_id
from storage.neutral import neutral_metadata, neutral_text
from storage.originals import note_superfluous
from storage.tables import DOCUMENT_STORE, segments, texts, vectors
from storage.text_parts import add_text_part, replace_text
from storage.text_use import FINISHED, is_hidden, log_text_removed, show_text
from storage.vectors import to_blob

# A parser's notes to the app; columns of the text, and no metadata of every segment.
_NOTES = frozenset({"warnings", "pages"})


@dataclass
class _Plan:
    """What has to be written so that the segments of a text are the new ones."""

    inserts: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    removals: list[int] = field(default_factory=list)
    vectors: dict[int, Any] = field(default_factory=dict)  # segment id -> row of the matrix

    def __bool__(self) -> bool:
        return bool(self.inserts or self.updates or self.removals or self.vectors)


def document_metadata(metadata: Metadata) -> Metadata:
    """What the document row keeps: neither the keys every document has, nor the parser's notes."""
    metadata = neutral_metadata(metadata)
    for key in DOCUMENT_KEYS | _NOTES | {"index"}:
        metadata.remove(key)
    return metadata


def write_text(
    connection: Connection,
    new: NewDocument,
    *,
    reuse: int | None,
    advance: Callable[[], int],
    fault: Callable[[str], None],
) -> tuple[int, bool]:
    """The row id of the text, and whether anything had to be written.

    reuse  another text whose segments may be taken over, because nothing else needs them
    """
    which = (texts.c.content_hash == new.content_hash, texts.c.pipeline == new.pipeline, texts.c.building == FINISHED)
    row = connection.execute(select(texts).where(*which)).one_or_none()
    of_document = new.document.metadata.to_json()
    own = [own_keys_of(segment, of_document) for segment in new.segments]
    values = _text_values(new, own)
    if row is None:
        text_id = connection.execute(insert(texts).values(seen=time.time(), **values)).inserted_primary_key[0]
        add_text_part(connection, text_id, 0, 0, new.document.text, new.document.marks)
        changed = True
    else:
        text_id = row.id
        changed = any(getattr(row, key) != value for key, value in values.items())
        connection.execute(update(texts).where(texts.c.id == text_id).values(seen=time.time(), **values))
        changed |= replace_text(connection, text_id, new.document.text, new.document.marks)
        if is_hidden(connection, text_id):
            show_text(connection, text_id, advance())
            changed = True
    fault("text written")
    plan = _plan(connection, new, own, text_id, {reuse, None if row is None else text_id} - {None})
    if plan:
        _carry_out(connection, plan, new, advance(), fault)
    return text_id, changed or bool(plan)


def remove_text(connection: Connection, text_id: int, advance: Callable[[], int]) -> tuple[str, float]:
    """Remove a text that nobody needs; returns (hash, when last seen) of the original that may go too.

    That it may go is written down with it: whoever is killed before it's gone leaves that to the next start.
    """
    log_text_removed(connection, text_id, advance())
    row = connection.execute(
        delete(texts).where(texts.c.id == text_id).returning(texts.c.content_hash, texts.c.seen)
    ).one()
    note_superfluous(connection, row.content_hash, row.seen)
    return row.content_hash, row.seen


def _text_values(new: NewDocument, own: Sequence[Metadata]) -> dict[str, Any]:
    return {
        "content_hash": new.content_hash,
        "pipeline": new.pipeline,
        "building": FINISHED,
        "type": new.type,
        "pages": new.pages,
        "characters": len(new.document.text),
        "warnings": [neutral_text(warning) for warning in new.warnings],
        "segment_keys": sorted({"index"}.union(*own)),
    }


def own_keys_of(segment: TextSegment, of_document: Mapping[str, object]) -> Metadata:
    """The keys that the segment doesn't have from its document. `index` is a column."""
    own = segment.metadata.copy()
    for key, value in segment.metadata.to_json().items():
        same = key in of_document and type(of_document[key]) is type(value) and of_document[key] == value
        if same or key in DOCUMENT_KEYS or key in _NOTES or key == "index":
            own.remove(key)
    return neutral_metadata(own)


def _plan(
    connection: Connection, new: NewDocument, own: Sequence[Metadata], text_id: int, pool: Collection[int]
) -> _Plan:
    """pool: texts whose segments may stay, or else go."""
    old: dict[tuple[str, str], deque[Row]] = defaultdict(deque)
    # Its own first: those of another text are taken over only where there is none here.
    order = (segments.c.text_id != text_id, segments.c.position, segments.c.id)
    query = select(segments).where(segments.c.text_id.in_(pool)).order_by(*order)
    for row in connection.execute(query) if pool else ():
        old[row.text, row.embedded_hash].append(row)
    plan = _Plan()
    kept: list[tuple[int, int]] = []  # (segment id, number of the new segment)
    next_id = next_segment_id(connection)
    for number, segment in enumerate(new.segments):
        values = segment_values(segment, own[number], new.terms[number], text_id, number)
        rows = old[values["text"], values["embedded_hash"]]
        if rows:
            row = rows.popleft()
            kept.append((row.id, number))
            if any(getattr(row, key) != value for key, value in values.items()):
                plan.updates.append({"row_id": row.id, **values})
            continue
        plan.inserts.append({"id": next_id, "uid": new_uid(), "store": DOCUMENT_STORE, **values})
        plan.vectors[next_id] = new.vectors[number]
        next_id += 1
    plan.removals = [row.id for rows in old.values() for row in rows]
    embedded = embedded_ids(connection, [segment_id for segment_id, _ in kept], new.model_id)
    plan.vectors |= {segment_id: new.vectors[number] for segment_id, number in kept if segment_id not in embedded}
    return plan


def segment_values(segment: TextSegment, own: Metadata, terms: str, text_id: int, number: int) -> dict[str, Any]:
    """Columns of a segment's row; `number` is its place where its metadata names none."""
    embedded = None if segment.embedded_text is None else neutral_text(segment.embedded_text)
    index = segment.metadata.get("index")
    return {
        "text_id": text_id,
        "position": index if isinstance(index, int) else number,
        "start": segment.start,
        "stop": segment.end,
        "text": neutral_text(segment.text),
        "embedded_text": embedded,
        # Of the text as it was embedded, before anything was neutralised: `vectors_for` is asked with that.
        "embedded_hash": text_hash(segment.text_to_embed),
        "metadata": own.to_json(),
        "terms": neutral_text(terms),
    }


def _carry_out(
    connection: Connection, plan: _Plan, new: NewDocument, generation: int, fault: Callable[[str], None]
) -> None:
    if plan.removals:
        remove_segments(connection, plan.removals, generation)
    if plan.updates:
        columns = [key for key in plan.updates[0] if key != "row_id"]
        connection.execute(
            update(segments)
            .where(segments.c.id == bindparam("row_id"))
            .values(generation=generation, **{key: bindparam(key) for key in columns}),
            plan.updates,
        )
    if plan.inserts:
        connection.execute(insert(segments), [{**values, "generation": generation} for values in plan.inserts])
    fault("segments written")
    _insert_vectors(connection, plan.vectors, new.model_id)
    written = {values["id"] for values in plan.inserts}
    _mark_changed(connection, [segment_id for segment_id in plan.vectors if segment_id not in written], generation)
    fault("vectors written")


def remove_segments(connection: Connection, ids: Sequence[int], generation: int) -> None:
    """Their vectors and keyword rows go with them."""
    log_removed(connection, generation, ids)
    for piece in batched(ids):
        connection.execute(delete(segments).where(segments.c.id.in_(piece)))


def add_vectors(connection: Connection, rows: dict[int, Any], model_id: str, generation: int) -> None:
    """Vectors of length 1 by segment id; their segments count as changed, so that caches read them."""
    _insert_vectors(connection, rows, model_id)
    _mark_changed(connection, rows, generation)


def _insert_vectors(connection: Connection, rows: Mapping[int, Any], model_id: str) -> None:
    if not rows:
        return
    model = ensured_model_id(connection, model_id, len(next(iter(rows.values()))))
    connection.execute(
        insert(vectors),
        [{"segment_id": segment_id, "model_id": model, "vector": to_blob(row)} for segment_id, row in rows.items()],
    )


def _mark_changed(connection: Connection, ids: Iterable[int], generation: int) -> None:
    for piece in batched(ids):
        connection.execute(update(segments).where(segments.c.id.in_(piece)).values(generation=generation))


def new_uid() -> str:
    """The id under which people and programs know a segment."""
    return uuid.uuid4().hex


def next_segment_id(connection: Connection) -> int:
    """The write transaction is the only writer, so ids can be given out here, and many rows written at once."""
    newest = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = 'segments'")).scalar()
    return (newest or 0) + 1
