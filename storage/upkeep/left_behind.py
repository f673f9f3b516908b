"""Jobs and answers in the hands of a process that is gone, and that nobody has taken over."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sqlalchemy import Connection, Table, or_, select, update

from core.records import Problem
from storage.conversations import ABANDONED, WORKING
from storage.database import Database
from storage.tables import jobs, messages

# A lease that ran out this long ago isn't one of a process that was killed a moment ago.
STALE_AFTER_S = 3600.0


def stale_jobs(connection: Connection) -> Iterator[Problem]:
    for row in _left(connection, jobs, ("running",)):
        yield Problem("stale_job", f"the job for {row.name!r} was left by a process that is gone")


def stale_answers(connection: Connection) -> Iterator[Problem]:
    if found := _left(connection, messages, WORKING):
        yield Problem("stale_answer", f"{len(found)} answers were left by a process that is gone")


def free_stale_jobs(database: Database) -> None:
    with database.write() as connection:
        ids = [row.id for row in _left(connection, jobs, ("running",))]
        free = {"state": "waiting", "phase": "waiting", "owner": None, "lease_until": None}
        connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(**free))


def interrupt_stale_answers(database: Database) -> None:
    """What was written of them stays."""
    with database.write() as connection:
        ids = [row.id for row in _left(connection, messages, WORKING)]
        ended = {"state": "interrupted", "reason": ABANDONED, "owner": None, "lease_until": None}
        connection.execute(update(messages).where(messages.c.id.in_(ids)).values(updated=time.time(), **ended))


def _left(connection: Connection, table: Table, states: tuple[str, ...]) -> list:
    """Rows in work whose lease ran out long ago. What was left just now is no damage: whoever starts takes it over."""
    limit = time.time() - STALE_AFTER_S
    query = select(table).where(
        table.c.state.in_(states), or_(table.c.lease_until.is_(None), table.c.lease_until < limit)
    )
    return list(connection.execute(query.order_by(table.c.id)))
