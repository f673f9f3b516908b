"""Segments read back, whole: own metadata under the document's, and a document that the filter allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, select

from core.domain import TextSegment
from core.filters import Filter
from core.metadata import Metadata
from storage.document_metadata import documents_of_texts, for_filter, merged
from storage.lookups import ASKED, rows_of
from storage.tables import is_visible, segments

COLUMNS = (
    segments.c.id,
    segments.c.uid,
    segments.c.text_id,
    segments.c.position,
    segments.c.start,
    segments.c.stop,
    segments.c.text,
    segments.c.embedded_text,
    segments.c.metadata,
)


@dataclass(frozen=True)
class FoundSegment:
    """`id` is the row, `uid` what people and programs see. `segment` is None for an entry without one."""

    id: int
    uid: str
    document_id: int | None
    segment: TextSegment | None


def load_segments(connection: Connection, ids: Sequence[int], filter: Filter | None = None) -> dict[int, FoundSegment]:
    """Row id -> segment, for the ids that exist, by as few statements as possible.

    Where several documents share the text, the oldest that `filter` matches is named and lends its metadata; a segment
    that no document's metadata lets through is left out.
    """
    return _found(connection, rows_of(connection, _BY_ID, map(int, ids)), filter)


def load_segments_by_uid(
    connection: Connection, store: str, uids: Iterable[str], filter: Filter | None = None
) -> dict[str, FoundSegment]:
    """The same by the ids that people and programs see, of the visible segments of a store."""
    found = _found(connection, rows_of(connection, _BY_UID, uids, store=store), filter)
    return {segment.uid: segment for segment in found.values()}


_BY_ID = select(*COLUMNS).where(segments.c.id.in_(ASKED))
_BY_UID = select(*COLUMNS).where(segments.c.store == bindparam("store"), segments.c.uid.in_(ASKED), is_visible)


def _found(connection: Connection, rows: Sequence[Row], filter: Filter | None) -> dict[int, FoundSegment]:
    known = documents_of_texts(connection, sorted({row.text_id for row in rows if row.text_id is not None}))
    found = {}
    for row in rows:
        if row.text_id is None:
            found[row.id] = FoundSegment(row.id, row.uid, None, _free_segment(row))
            continue
        own = own_metadata(row)
        for document_id, metadata in known.get(row.text_id, ()):
            whole = merged(metadata, own)
            if filter is None or filter.matches(for_filter(document_id, whole)):
                found[row.id] = FoundSegment(row.id, row.uid, document_id, as_segment(row, whole))
                break
    return found


def own_metadata(row: Row) -> Metadata:
    own = Metadata.from_json(row.metadata)
    return own if row.position is None else own.put("index", row.position)


def as_segment(row: Row, metadata: Metadata) -> TextSegment:
    return TextSegment(row.text, metadata, row.start, row.stop, row.embedded_text)


def _free_segment(row: Row) -> TextSegment | None:
    return None if row.text is None else as_segment(row, own_metadata(row))
