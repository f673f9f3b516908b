"""From a filter to the segments it allows. One place, so that every leg of the search sees the same ones.

    allowed = mask.allowed(connection, metadata_key("collection").is_equal_to("tax"))   # segments.id, or None: all

The meaning is `Filter.matches` on a segment's merged metadata. It's asked as rarely as possible: once a document where
the filter's keys are no segment's own, else once for each different set of values under those keys.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping

import numpy as np
from sqlalchemy import Connection, select

from core.filters import And, Filter
from core.metadata import Metadata
from storage.batches import batched
from storage.document_metadata import DOCUMENT_KEYS, documents_of_texts, for_filter, merged
from storage.generation import Generation, current
from storage.tables import segments, texts

# Above this share a scan of the covering index beats naming every text.
_MANY_TEXTS = 400


class FilterMask:
    """Allowed segments by filter, remembered for the current generation. Thread-safe; a `Database` has one for all."""

    def __init__(self, *, remembered: int = 64) -> None:
        self._remembered = remembered
        self._lock = threading.Lock()
        self._generation: Generation | None = None
        # The filter is kept beside its ids: a custom one may be told apart by its address only.
        self._masks: OrderedDict[str, tuple[Filter, np.ndarray]] = OrderedDict()

    def allowed(self, connection: Connection, filter: Filter | None) -> np.ndarray | None:
        """Sorted ids (`segments.id`), int64; None where there is no filter. An entry without a segment is never in.

        raises  ConfigError where the filter compares a value with one of another type
        """
        if filter is None:
            return None
        generation = current(connection)
        key = repr(filter)  # tells 1 from True, which are equal as values
        with self._lock:
            if generation != self._generation:
                self._masks.clear()
                self._generation = generation
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key][1]
        ids = _allowed_ids(connection, filter)
        with self._lock:
            if generation == self._generation:
                self._masks[key] = (filter, ids)
                while len(self._masks) > self._remembered:
                    self._masks.popitem(last=False)
        return ids


def _allowed_ids(connection: Connection, filter: Filter) -> np.ndarray:
    whole: list[int] = []
    partly: dict[int, list[Metadata]] = {}
    own_keys = dict(connection.execute(select(texts.c.id, texts.c.segment_keys)).all())
    for text_id, documents in documents_of_texts(connection).items():
        candidates = [for_filter(document_id, metadata) for document_id, metadata in documents]
        keys = frozenset(own_keys[text_id]) - DOCUMENT_KEYS
        if filter.keys().isdisjoint(keys):
            if any(filter.matches(metadata) for metadata in candidates):
                whole.append(text_id)
            continue
        # What can be said of the document alone is said first, and spares reading its segments.
        about_document = [part for part in _conjuncts(filter) if part.keys().isdisjoint(keys)]
        candidates = [metadata for metadata in candidates if all(part.matches(metadata) for part in about_document)]
        if candidates:
            partly[text_id] = candidates
    ids = [
        *_ids_of_texts(connection, whole),
        *_ids_one_by_one(connection, filter, partly),
        *_free_ids(connection, filter),
    ]
    return np.array(sorted(ids), dtype=np.int64)


def _conjuncts(filter: Filter) -> Iterator[Filter]:
    if isinstance(filter, And):
        yield from _conjuncts(filter.left)
        yield from _conjuncts(filter.right)
    else:
        yield filter


def _ids_of_texts(connection: Connection, text_ids: list[int]) -> list[int]:
    if len(text_ids) > _MANY_TEXTS:
        rows = connection.execute(select(segments.c.id, segments.c.text_id).where(segments.c.text_id.is_not(None)))
        wanted = set(text_ids)
        return [segment_id for segment_id, text_id in rows if text_id in wanted]
    found: list[int] = []
    for piece in batched(text_ids):
        found += connection.execute(select(segments.c.id).where(segments.c.text_id.in_(piece))).scalars()
    return found


def _ids_one_by_one(connection: Connection, filter: Filter, candidates: Mapping[int, list[Metadata]]) -> Iterator[int]:
    columns = (segments.c.id, segments.c.text_id, segments.c.position, segments.c.metadata)
    answers: dict[tuple, bool] = {}
    for piece in batched(candidates):
        for row in connection.execute(select(*columns).where(segments.c.text_id.in_(piece))):
            values = _under_keys({**row.metadata, "index": row.position}, filter)
            key = (row.text_id, repr(values))
            if key not in answers:
                own = Metadata.from_json(values)
                answers[key] = any(filter.matches(merged(document, own)) for document in candidates[row.text_id])
            if answers[key]:
                yield row.id


def _free_ids(connection: Connection, filter: Filter) -> Iterator[int]:
    """Entries that were added to an embedding store, and have a segment."""
    rows = connection.execute(
        select(segments.c.id, segments.c.metadata).where(segments.c.text_id.is_(None), segments.c.text.is_not(None))
    )
    answers: dict[str, bool] = {}
    for segment_id, metadata in rows:
        values = _under_keys(metadata, filter)
        key = repr(values)
        if key not in answers:
            answers[key] = filter.matches(Metadata.from_json(values))
        if answers[key]:
            yield segment_id


def _under_keys(values: Mapping[str, object], filter: Filter) -> dict[str, object]:
    return {key: values[key] for key in sorted(filter.keys()) if key in values}
