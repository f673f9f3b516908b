"""From the row of a segment (`id`, a number that never comes again) to the id that people see, and back."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from storage.lookups import ASKED, rows_of
from storage.tables import is_visible, segments

_UIDS = select(segments.c.id, segments.c.uid).where(segments.c.id.in_(ASKED), is_visible)
# With the store named the lookup goes by the index over both; by uid alone it would read the whole table.
_IDS = select(segments.c.id, segments.c.uid).where(
    segments.c.store == bindparam("store"), segments.c.uid.in_(ASKED), is_visible
)


def uids_of(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    """id -> uid, of the visible segments that there are."""
    return {row.id: row.uid for row in rows_of(connection, _UIDS, ids)}


def ids_of(connection: Connection, store: str, uids: Iterable[str]) -> dict[str, int]:
    """uid -> id, of the visible segments of a store that there are."""
    return {row.uid: row.id for row in rows_of(connection, _IDS, uids, store=store)}
