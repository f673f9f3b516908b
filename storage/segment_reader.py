"""Found segments read whole, by their ids: for a search that first ranks, and then reads what it keeps."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain import TextSegment
from core.filters import Filter
from storage.database import Database
from storage.segment_rows import load_segments_by_uid
from storage.tables import DOCUMENT_STORE


class SqliteSegmentReader:
    """`core.protocols.SegmentReader` over one store's segments. Holds nothing; any thread."""

    def __init__(self, database: Database, *, store: str = DOCUMENT_STORE) -> None:
        self._database = database
        self._store = store

    def read(self, ids: Sequence[str], filter: Filter | None = None) -> dict[str, tuple[int | None, TextSegment]]:
        """Segment id -> (document id, segment), of those that there are and that the filter lets through.

        Where several documents share the text, the oldest that the filter matches is named and lends its metadata.
        """
        with self._database.read() as connection:
            found = load_segments_by_uid(connection, self._store, ids, filter)
        return {uid: (hit.document_id, hit.segment) for uid, hit in found.items() if hit.segment is not None}
