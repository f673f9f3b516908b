"""From the row of a segment (`id`, a number that never comes again) to the id that people see, and back."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from storage.batches import batched
from storage.tables import is_visible, segments


def uids_of(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    """id -> uid, of the visible segments that there are."""
    query = select(segments.c.id, segments.c.uid).where(is_visible)
    return {
        row.id: row.uid for piece in batched(ids) for row in connection.execute(query.where(segments.c.id.in_(piece)))
    }


def ids_of(connection: Connection, store: str, uids: Iterable[str]) -> dict[str, int]:
    """uid -> id, of the visible segments of a store that there are."""
    # With the store named the lookup goes by the index over both; by uid alone it would read the whole table.
    query = select(segments.c.id, segments.c.uid).where(segments.c.store == store, is_visible)
    return {
        row.uid: row.id for piece in batched(uids) for row in connection.execute(query.where(segments.c.uid.in_(piece)))
    }
