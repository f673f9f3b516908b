"""From the row of a segment (`id`, a number that never comes again) to the id that people and programs see."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from storage.lookups import ASKED, rows_of
from storage.tables import is_visible, segments

_UIDS = select(segments.c.id, segments.c.uid).where(segments.c.id.in_(ASKED), is_visible)


def uids_of(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    """id -> uid, of the visible segments that there are."""
    return {row.id: row.uid for row in rows_of(connection, _UIDS, ids)}
