"""What filters ask of segments, in arrays: which text each belongs to, its place in it, and its own metadata.

Read once and kept in step with SQLite by the generation number. Metadata is a number into a list of the different ones:
a thousand segments of page 3 share one. It's read when a filter first asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, Text, select, type_coerce

from storage.batches import batched
from storage.generation import Generation, changes_since, current
from storage.tables import is_visible, segments

FREE = 0  # instead of a text: an entry that was added by itself
NO_PLACE = -1


@dataclass(frozen=True)
class SegmentColumns:
    """A row for each visible segment that has a text, by ascending id.

    ids        int64: `segments.id`
    texts      int64: `segments.text_id`, or FREE
    positions  int64: metadata "index", or NO_PLACE
    own        int64: which of the metadata in `ColumnsCache.own_metadata`; None: not read yet
    """

    ids: np.ndarray
    texts: np.ndarray
    positions: np.ndarray
    own: np.ndarray | None = None

    def without(self, ids: np.ndarray) -> SegmentColumns:
        return self._taken(~np.isin(self.ids, ids, assume_unique=True))

    def joined_with(self, other: SegmentColumns) -> SegmentColumns:
        columns = SegmentColumns(
            *(np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("ids", "texts", "positions")),
            None if self.own is None or other.own is None else np.concatenate([self.own, other.own]),
        )
        return columns._taken(np.argsort(columns.ids, kind="stable"))

    def _taken(self, rows: np.ndarray) -> SegmentColumns:
        own = None if self.own is None else self.own[rows]
        return SegmentColumns(self.ids[rows], self.texts[rows], self.positions[rows], own)


class ColumnsCache:
    """The columns at the generation of a transaction. Thread-safe; a snapshot that was given out never changes.

    own_metadata  the different metadata of segments, as JSON; only ever added to
    """

    def __init__(self) -> None:
        self.own_metadata: list[str] = []
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._state: tuple[SegmentColumns, Generation] | None = None

    def up_to_date(self, connection: Connection, *, with_own: bool) -> SegmentColumns:
        """with_own  also `own`"""
        with self._lock:
            now = current(connection)
            columns = self._caught_up(connection, now)
            if columns is None:
                columns = self._read(connection, with_own=with_own)
            elif with_own and columns.own is None:
                columns = replace(columns, own=self._own_of(connection))
            if self._is_newer(now):
                self._state = (columns, now)
            return columns

    def _is_newer(self, now: Generation) -> bool:
        """A transaction that began before another thread caught up mustn't set the columns back."""
        return self._state is None or now.number >= self._state[1].number

    def _caught_up(self, connection: Connection, now: Generation) -> SegmentColumns | None:
        if self._state is None:
            return None
        columns, generation = self._state
        if generation == now:
            return columns
        changes = changes_since(connection, generation) if generation.number < now.number else None
        if changes is None or len(changes.changed) > max(1000, len(columns.ids)):
            return None
        gone = np.unique(np.array([*changes.changed, *changes.removed], dtype=np.int64))
        columns = columns.without(gone)
        if not changes.changed:
            return columns
        return columns.joined_with(self._read(connection, changes.changed, with_own=columns.own is not None))

    def _read(self, connection: Connection, ids: Sequence[int] | None = None, *, with_own: bool) -> SegmentColumns:
        names = (segments.c.id, segments.c.text_id, segments.c.position)
        rows = _rows(connection, (*names, _OWN) if with_own else names, ids)
        return SegmentColumns(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] or FREE for row in rows], dtype=np.int64),
            np.array([NO_PLACE if row[2] is None else row[2] for row in rows], dtype=np.int64),
            self._numbered([row[3] for row in rows]) if with_own else None,
        )

    def _own_of(self, connection: Connection) -> np.ndarray:
        return self._numbered([row[0] for row in _rows(connection, (_OWN,), None)])

    def _numbered(self, metadata: Sequence[str]) -> np.ndarray:
        for one in dict.fromkeys(metadata):
            if one not in self._numbers:
                self._numbers[one] = len(self.own_metadata)
                self.own_metadata.append(one)
        return np.fromiter(map(self._numbers.__getitem__, metadata), np.int64, len(metadata))


_OWN = type_coerce(segments.c.metadata, Text)  # as it is written, not parsed


def _rows(connection: Connection, columns: Sequence, ids: Sequence[int] | None) -> list:
    query = select(*columns).where(segments.c.text.is_not(None), is_visible).order_by(segments.c.id)
    pages = [query] if ids is None else [query.where(segments.c.id.in_(piece)) for piece in batched(sorted(ids))]
    return [row for page in pages for row in connection.execute(page)]
