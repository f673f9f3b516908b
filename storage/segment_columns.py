"""What filters ask of segments, in arrays: which text each belongs to, its place in it, and its own metadata.

Read once and kept in step with SQLite by the generation number. Metadata is a number into a list of the different ones:
a thousand segments of page 3 share one. It's read when a filter first asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, Row, Select, Text, select, type_coerce

from storage.batches import batched
from storage.generation import Generation, changes_since, current
from storage.tables import is_visible, segments

FREE = 0  # instead of a text: an entry that was added by itself
NO_PLACE = -1
# The newest, and the one before: a search may have begun before another thread caught up.
_STATES = 2


@dataclass(frozen=True)
class SegmentColumns:
    """A row for each segment that has a text, by ascending id; hidden ones may be among them.

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
        self._states: list[tuple[SegmentColumns, Generation]] = []

    def up_to_date(self, connection: Connection, *, with_own: bool) -> SegmentColumns:
        """with_own  also `own`"""
        with self._lock:
            now = current(connection)
            columns = self._caught_up(connection, now)
            if columns is None:
                self._states = []
                columns = self._read(connection, with_own=with_own)
            elif with_own and columns.own is None:
                columns = replace(columns, own=self._own_of(connection, columns.ids))
            self._remember(columns, now)
            return columns

    def _remember(self, columns: SegmentColumns, now: Generation) -> None:
        others = [state for state in self._states if state[1] != now]
        self._states = sorted([*others, (columns, now)], key=lambda state: state[1].number)[-_STATES:]

    def _caught_up(self, connection: Connection, now: Generation) -> SegmentColumns | None:
        older = [state for state in self._states if state[1].number <= now.number]
        if not older:
            return None
        columns, generation = older[-1]
        if generation == now:
            return columns
        changes = changes_since(connection, generation)
        if changes is None or len(changes.changed) > max(1000, len(columns.ids)):
            return None
        gone = np.unique(np.array([*changes.changed, *changes.removed], dtype=np.int64))
        columns = columns.without(gone)
        if not changes.changed:
            return columns
        return columns.joined_with(self._read(connection, changes.changed, with_own=columns.own is not None))

    def _read(self, connection: Connection, ids: Sequence[int] | None = None, *, with_own: bool) -> SegmentColumns:
        pages = [_of_texts(), _free()] if ids is None else [query for piece in batched(ids) for query in _named(piece)]
        pieces = [_arrays(rows) for query in pages for rows in connection.execute(query).partitions(_ROWS_AT_ONCE)]
        found = np.concatenate([np.zeros((0, 3), dtype=np.int64), *pieces])
        found = found[np.argsort(found[:, 0], kind="stable")]
        columns = SegmentColumns(*(np.ascontiguousarray(column) for column in found.T))
        return replace(columns, own=self._own_of(connection, columns.ids, ids)) if with_own else columns

    def _own_of(self, connection: Connection, of: np.ndarray, ids: Sequence[int] | None = None) -> np.ndarray:
        """For each of the ascending ids `of` the number of its metadata. ids: all that are asked for; None: all."""
        own = np.full(len(of), self._number("{}"), dtype=np.int64)
        query = select(segments.c.id, _OWN).where(segments.c.text.is_not(None), is_visible)
        pages = [query] if ids is None else [query.where(segments.c.id.in_(piece)) for piece in batched(ids)]
        for rows in (rows for page in pages for rows in connection.execute(page).partitions(_ROWS_AT_ONCE)):
            places = np.searchsorted(of, [row[0] for row in rows])
            own[places] = [self._number(row[1]) for row in rows]
        return own

    def _number(self, metadata: str) -> int:
        number = self._numbers.setdefault(metadata, len(self.own_metadata))
        if number == len(self.own_metadata):
            self.own_metadata.append(metadata)
        return number


_OWN = type_coerce(segments.c.metadata, Text)  # as it is written, not parsed
_ROWS_AT_ONCE = 20_000
_COLUMNS = (segments.c.id, segments.c.text_id, segments.c.position)


def _of_texts() -> Select:
    """Those of hidden texts too: no document names them. So the answer comes from an index, without reading texts."""
    return select(*_COLUMNS).where(segments.c.text_id.is_not(None))


def _free() -> Select:
    return select(*_COLUMNS).where(segments.c.text_id.is_(None), segments.c.text.is_not(None), is_visible)


def _named(ids: Sequence[int]) -> tuple[Select, Select]:
    return (_of_texts().where(segments.c.id.in_(ids), is_visible), _free().where(segments.c.id.in_(ids)))


def _arrays(rows: Sequence[Row]) -> np.ndarray:
    values = [(id, text_id or FREE, NO_PLACE if position is None else position) for id, text_id, position in rows]
    return np.array(values, dtype=np.int64).reshape(len(values), 3)
