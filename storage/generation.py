"""The generation number: what tells a cache that the index in SQLite has moved on, and by what.

Every transaction that changes segments or vectors calls `advance` once and marks its rows with the number it got.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, text

from storage.batches import batched
from storage.tables import generations, removed_segments, segments

# A cache further behind than this rebuilds itself, which is cheaper than to catch up by then.
KEPT_GENERATIONS = 10_000
KEPT_REMOVALS = 200_000


@dataclass(frozen=True)
class Generation:
    """`stamp` is random: a database restored from a backup reaches the same numbers, but not the same stamps."""

    number: int
    stamp: str


@dataclass(frozen=True)
class Changes:
    """Ids of segments since a generation. `changed` holds new ones and ones that were there; read them again."""

    changed: list[int]
    removed: list[int]


def current(connection: Connection) -> Generation:
    row = connection.execute(select(generations).order_by(generations.c.id.desc()).limit(1)).one()
    return Generation(row.id, row.stamp)


def advance(connection: Connection) -> int:
    """The number of the change that this write transaction makes; visible to others when it commits."""
    number = connection.execute(insert(generations).values(stamp=uuid.uuid4().hex)).inserted_primary_key[0]
    _prune(connection, number)
    return number


def log_removed(connection: Connection, generation: int, segment_ids: Iterable[int]) -> None:
    for ids in batched(segment_ids, 5000):
        connection.execute(
            insert(removed_segments).prefix_with("OR REPLACE"),
            [{"segment_id": segment_id, "generation": generation} for segment_id in ids],
        )


def changes_since(connection: Connection, known: Generation) -> Changes | None:
    """What a cache of generation `known` has to do; None where that generation isn't remembered: read everything."""
    stamp = connection.execute(select(generations.c.stamp).where(generations.c.id == known.number)).scalar()
    if stamp != known.stamp:
        return None
    changed = connection.execute(select(segments.c.id).where(segments.c.generation > known.number)).scalars()
    removed = connection.execute(
        select(removed_segments.c.segment_id).where(removed_segments.c.generation > known.number)
    ).scalars()
    return Changes(list(changed), list(removed))


def _prune(connection: Connection, number: int) -> None:
    if number % 100:
        return
    oldest = number - KEPT_GENERATIONS
    count = connection.execute(select(func.count()).select_from(removed_segments)).scalar_one()
    if count > KEPT_REMOVALS:
        # Forget the log up to here; the generations go with it, so that nobody catches up from a log with holes.
        oldest = number - 1
    connection.execute(delete(generations).where(generations.c.id < oldest))
    connection.execute(text("DELETE FROM removed_segments WHERE generation < :oldest"), {"oldest": oldest})
