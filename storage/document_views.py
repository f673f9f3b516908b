"""What filters see of documents: their metadata by text, read anew only where something changed."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Text, select, type_coerce

from core.metadata import Metadata
from storage.document_metadata import DOCUMENT_KEYS, for_filter
from storage.generation import Generation, current
from storage.tables import collections, documents, texts


@dataclass(frozen=True)
class DocumentViews:
    """of_text   text id -> metadata of its documents as filters see it, oldest first
    own_keys  what segments of any text have metadata of their own under; never a key that every document has
    """

    of_text: Mapping[int, Sequence[Metadata]]
    own_keys: frozenset[str]


class DocumentViewsCache:
    """The views at the generation of a transaction. Thread-safe; a snapshot that was given out never changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parsed: dict[int, tuple[Row, Metadata]] = {}  # by document id
        self._state: tuple[DocumentViews, Generation] | None = None

    def up_to_date(self, connection: Connection) -> DocumentViews:
        with self._lock:
            now = current(connection)
            if self._state is None or self._state[1] != now:
                self._state = (self._read(connection), now)
            return self._state[0]

    def _read(self, connection: Connection) -> DocumentViews:
        parsed: dict[int, tuple[Row, Metadata]] = {}
        of_text: dict[int, list[Metadata]] = {}
        for row in connection.execute(_DOCUMENTS).all():
            known = self._parsed.get(row.id)
            parsed[row.id] = known if known is not None and known[0] == row else (row, _view(row))
            of_text.setdefault(row.text_id, []).append(parsed[row.id][1])
        self._parsed = parsed
        keys = connection.execute(select(type_coerce(texts.c.segment_keys, Text)).distinct()).scalars()
        own_keys = frozenset().union(*map(json.loads, keys)) - DOCUMENT_KEYS
        return DocumentViews(of_text, own_keys)


_DOCUMENTS = (
    select(
        documents.c.id,
        documents.c.text_id,
        type_coerce(documents.c.metadata, Text).label("metadata"),  # as it is written: most were parsed before
        documents.c.name,
        documents.c.source,
        collections.c.name.label("collection"),
    )
    .join(collections)
    .order_by(documents.c.id)
)


def _view(row: Row) -> Metadata:
    metadata = Metadata.from_json(json.loads(row.metadata))
    return for_filter(
        row.id, metadata.put_all({"file_name": row.name, "source": row.source, "collection": row.collection})
    )
