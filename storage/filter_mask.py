"""From a filter to the segments it allows. One place, so that every leg of the search sees the same ones.

    allowed = mask.allowed(connection, metadata_key("collection").is_equal_to("tax"))   # None: all
    allowed.among(ids)                                                                  # bool for each id

The meaning is `Filter.matches` on a segment's merged metadata. It's asked as rarely as possible: once for each set of
values that documents and segments have under the filter's keys; see `filter_evaluation.py`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from sqlalchemy import Connection

from core.filters import Filter
from storage.document_views import DocumentViewsCache
from storage.filter_evaluation import matching_ids, needs_own_metadata
from storage.generation import Generation, current
from storage.segment_columns import ColumnsCache

# Of all remembered masks; one takes a byte a segment.
_MOST_BYTES = 32 << 20


class Allowed:
    """The segments that a filter allows, for a generation.

    ids  int64, ascending: `segments.id`
    """

    def __init__(self, ids: np.ndarray) -> None:
        newest = int(ids[-1]) if len(ids) else 0
        # One more, always False, stands for all ids beyond.
        self._holds = np.zeros(newest + 2, dtype=bool)
        self._holds[ids] = True

    @property
    def ids(self) -> np.ndarray:
        return np.flatnonzero(self._holds)

    @property
    def size_bytes(self) -> int:
        return len(self._holds)

    def among(self, ids: np.ndarray) -> np.ndarray:
        """bool, one per id: whether it is allowed."""
        return self._holds[np.minimum(ids, len(self._holds) - 1)]


class FilterMask:
    """Allowed segments by filter, remembered for the current generation. Thread-safe; a `Database` has one for all."""

    def __init__(self, *, remembered: int = 64, most_bytes: int = _MOST_BYTES) -> None:
        self._remembered = remembered
        self._most_bytes = most_bytes
        self._columns = ColumnsCache()
        self._documents = DocumentViewsCache()
        self._lock = threading.Lock()
        self._evaluating = threading.Lock()
        self._generation: Generation | None = None
        # The filter is kept beside its mask: a custom one may be told apart by its address only.
        self._masks: OrderedDict[str, tuple[Filter, Allowed]] = OrderedDict()

    def warm(self, connection: Connection) -> None:
        """Read what filters ask of segments now rather than when the first one asks."""
        self._columns.up_to_date(connection, with_own=True)

    def allowed(self, connection: Connection, filter: Filter | None) -> Allowed | None:
        """None where there is no filter. An entry without a segment is never in.

        raises  ConfigError where the filter compares a value with one of another type
        """
        if filter is None:
            return None
        generation = current(connection)
        known = self._remembered_mask(generation, filter)
        if known is not None:
            return known
        # One at a time: the legs of a search ask for the same one together, and the second then finds it.
        with self._evaluating:
            known = self._remembered_mask(generation, filter)
            if known is not None:
                return known
            allowed = Allowed(self._allowed_ids(connection, filter))
            with self._lock:
                if generation == self._generation:
                    self._masks[repr(filter)] = (filter, allowed)
                    self._forget_oldest()
            return allowed

    def _remembered_mask(self, generation: Generation, filter: Filter) -> Allowed | None:
        key = repr(filter)  # tells 1 from True, which are equal as values
        with self._lock:
            if generation != self._generation:
                self._masks.clear()
                self._generation = generation
            if key not in self._masks:
                return None
            self._masks.move_to_end(key)
            return self._masks[key][1]

    def _forget_oldest(self) -> None:
        size = sum(allowed.size_bytes for _, allowed in self._masks.values())
        while len(self._masks) > self._remembered or (size > self._most_bytes and len(self._masks) > 1):
            _, (_, allowed) = self._masks.popitem(last=False)
            size -= allowed.size_bytes

    def _allowed_ids(self, connection: Connection, filter: Filter) -> np.ndarray:
        documents = self._documents.up_to_date(connection)
        columns = self._columns.up_to_date(connection, with_own=False)
        if needs_own_metadata(columns, documents, filter):
            columns = self._columns.up_to_date(connection, with_own=True)
        return matching_ids(columns, self._columns.own_metadata, documents, filter)
