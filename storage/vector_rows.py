"""Vectors of named segments, as they are kept: what a search scores its candidates by."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Row, bindparam, func, select

from storage.lookups import ASKED, rows_of
from storage.tables import is_visible, segments, vectors

_VECTORS = (
    select(segments.c.id, segments.c.uid, vectors.c.vector)
    .join(vectors, vectors.c.segment_id == segments.c.id)
    .where(
        segments.c.store == bindparam("store"),
        is_visible,
        vectors.c.model_id == bindparam("model"),
        func.length(vectors.c.vector) == bindparam("bytes"),  # a damaged one is left to `check`
    )
)
_BY_ID = _VECTORS.where(segments.c.id.in_(ASKED))
_BY_UID = _VECTORS.where(segments.c.uid.in_(ASKED))


def vector_rows(connection: Connection, store: str, model: Row, ids: Iterable[int]) -> list[Row]:
    """(id, uid, vector as bytes) of the visible segments among the ids that have a vector by the model."""
    return rows_of(connection, _BY_ID, ids, store=store, model=model.id, bytes=4 * model.dimension)


def vector_rows_by_uid(connection: Connection, store: str, model: Row, uids: Iterable[str]) -> list[Row]:
    return rows_of(connection, _BY_UID, uids, store=store, model=model.id, bytes=4 * model.dimension)
