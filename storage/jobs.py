"""Durable jobs: what is to be done, how far it is, and who is doing it.

A job is run by exactly one process: `claim` gives it a lease, `heartbeat` keeps it. A lease that ran out, because its
process was killed, makes the job free again; one that took its process with it several times is given up.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, func, insert, or_, select, update

from core.errors import ConfigError, NotFoundError
from core.records import JOB_ENDED, JobRecord
from storage.database import Database
from storage.neutral import neutral_text
from storage.tables import jobs

logger = logging.getLogger(__name__)

# A healthy file is on its third attempt after two nights of a battery that ran out; only a file that kills its reader
# again and again is to be given up, and that it costs ten starts is cheaper than a document that is missing.
MAX_ATTEMPTS = 10


class SqliteJobStore:
    """`core.protocols.JobStore` over SQLite. `clock` gives seconds since 1970; tests turn it."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def add(self, kind: str, name: str, payload: Mapping[str, Any], *, batch: str = "") -> JobRecord:
        now = self._clock()
        values = {
            "kind": kind,
            "state": "waiting",
            "name": neutral_text(name),
            "payload": dict(payload),
            "progress": 0.0,
            "phase": "waiting",
            "reason": "",
            "result": {},
            "batch": batch,
            "attempts": 0,
            "stop_requested": False,
            "created": now,
            "updated": now,
        }
        with self._database.write("job added") as connection:
            job_id = connection.execute(insert(jobs).values(**values)).inserted_primary_key[0]
            return _record(_row(connection, job_id))

    def claim(
        self, owner: str, *, lease_s: float, batch: str | None = None, most_bytes: int | None = None
    ) -> JobRecord | None:
        """The oldest job that nobody runs, now owned; None where there is none.

        most_bytes  of its file; larger ones are left to others
        """
        # Looking takes no lock: an idle worker asks again and again, beside people who write.
        with self._database.read() as connection:
            if connection.execute(_free(self._clock(), batch, most_bytes)).first() is None:
                return None
        with self._database.write("job claimed") as connection:
            now = self._clock()  # a lease that began before the wait for the lock might be over already
            query = _free(now, batch, most_bytes)
            while row := connection.execute(query).one_or_none():
                if row.state == "waiting" or (row.attempts < MAX_ATTEMPTS and not row.stop_requested):
                    values = {"state": "running", "owner": owner, "lease_until": now + lease_s}
                    _change(connection, now, jobs.c.id == row.id, attempts=row.attempts + 1, **values)
                    return _record(_row(connection, row.id))
                _give_up(connection, row, now)
        return None

    def heartbeat(self, job_id: int, owner: str, *, lease_s: float) -> bool:
        """Keep the lease. False: it was lost, or the job is gone; stop working on it."""
        with self._database.write("job heartbeat") as connection:
            now = self._clock()
            return _change(connection, now, _owned(job_id, owner), lease_until=now + lease_s) == 1

    def heartbeat_all(self, owner: str, *, lease_s: float) -> set[int]:
        """Keep the leases of all jobs that this owner runs: their ids. What isn't among them was lost, or is gone."""
        which = and_(jobs.c.state == "running", jobs.c.owner == owner)
        with self._database.write("job heartbeats") as connection:
            now = self._clock()
            values = {"updated": now, "lease_until": now + lease_s}
            return set(connection.execute(update(jobs).where(which).values(**values).returning(jobs.c.id)).scalars())

    def progress(self, job_id: int, owner: str, progress: float, phase: str) -> None:
        """From somebody who has lost the lease: ignored."""
        with self._database.write("job progress") as connection:
            _change(
                connection, self._clock(), _owned(job_id, owner), progress=min(max(progress, 0.0), 1.0), phase=phase
            )

    def finish(self, job_id: int, owner: str, state: str, *, reason: str = "", result: Mapping | None = None) -> None:
        """End a job. From somebody who has lost the lease: ignored. A password in its payload is forgotten.

        state  one of JOB_ENDED
        """
        if state not in JOB_ENDED:
            raise ConfigError(f"a job can't end as {state!r}; choose one of {', '.join(map(repr, JOB_ENDED))}")
        with self._database.write("job finished") as connection:
            row = connection.execute(select(jobs).where(_owned(job_id, owner))).one_or_none()
            if row is None:
                logger.warning("job %d was finished by %s, who doesn't own it any more; ignored", job_id, owner)
                return
            payload = {key: value for key, value in row.payload.items() if key != "password"}
            _change(
                connection,
                self._clock(),
                jobs.c.id == job_id,
                state=state,
                phase=state,
                progress=1.0 if state == "done" else row.progress,
                reason=neutral_text(reason),
                result=dict(result or {}),
                payload=payload,
                owner=None,
                lease_until=None,
            )

    def release(self, job_id: int, owner: str) -> None:
        """Back to waiting, for example when the app closes; this attempt doesn't count."""
        with self._database.write("job released") as connection:
            values = {"state": "waiting", "phase": "waiting", "progress": 0.0, "owner": None, "lease_until": None}
            _change(connection, self._clock(), _owned(job_id, owner), attempts=jobs.c.attempts - 1, **values)

    def request_stop(self, job_id: int) -> None:
        """A waiting job stops at once; a running one when its worker looks. An ended one stays as it is."""
        now = self._clock()
        with self._database.write("job stop") as connection:
            _row(connection, job_id)
            waiting = and_(jobs.c.id == job_id, jobs.c.state == "waiting")
            running = and_(jobs.c.id == job_id, jobs.c.state == "running")
            _change(connection, now, waiting, state="stopped", phase="stopped", stop_requested=True)
            _change(connection, now, running, stop_requested=True)

    def retry(self, job_id: int, payload: Mapping[str, Any] | None = None) -> JobRecord:
        """An ended job waits again; `payload` is added to its own, a password for example."""
        with self._database.write("job retried") as connection:
            row = _row(connection, job_id)
            if row.state in JOB_ENDED:
                _change(
                    connection,
                    self._clock(),
                    jobs.c.id == job_id,
                    state="waiting",
                    phase="waiting",
                    progress=0.0,
                    reason="",
                    result={},
                    payload={**row.payload, **(payload or {})},
                    attempts=0,
                    stop_requested=False,
                )
            return _record(_row(connection, job_id))

    def get(self, job_id: int) -> JobRecord:
        with self._database.read() as connection:
            return _record(_row(connection, job_id))

    def list(self, *, states: Sequence[str] = (), batch: str | None = None, limit: int = 200) -> list[JobRecord]:
        """Newest first."""
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if states:
            query = query.where(jobs.c.state.in_(states))
        if batch is not None:
            query = query.where(jobs.c.batch == batch)
        with self._database.read() as connection:
            return [_record(row) for row in connection.execute(query)]

    def clear_ended(self) -> int:
        with self._database.write("jobs cleared") as connection:
            return connection.execute(delete(jobs).where(jobs.c.state.in_(JOB_ENDED))).rowcount


def _free(now: float, batch: str | None, most_bytes: int | None) -> Select:
    free = or_(jobs.c.state == "waiting", and_(jobs.c.state == "running", jobs.c.lease_until < now))
    if batch is not None:
        free = and_(free, jobs.c.batch == batch)
    if most_bytes is not None:
        free = and_(free, func.json_extract(jobs.c.payload, "$.size") <= most_bytes)
    return select(jobs).where(free).order_by(jobs.c.id).limit(1)


def _owned(job_id: int, owner: str) -> ColumnElement[bool]:
    return and_(jobs.c.id == job_id, jobs.c.state == "running", jobs.c.owner == owner)


def _change(connection: Connection, now: float, which: ColumnElement[bool], **values: Any) -> int:
    return connection.execute(update(jobs).where(which).values(updated=now, **values)).rowcount


def _give_up(connection: Connection, row: Row, now: float) -> None:
    stopped = row.stop_requested
    reason = "" if stopped else f"given up: Footnote ended {row.attempts} times while it worked on {row.name!r}"
    state = "stopped" if stopped else "failed"
    values = {"state": state, "phase": state, "reason": reason, "owner": None, "lease_until": None}
    _change(connection, now, jobs.c.id == row.id, **values)


def _row(connection: Connection, job_id: int) -> Row:
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no job {job_id}; it may have been cleared")
    return row


def _record(row: Row) -> JobRecord:
    return JobRecord(
        id=row.id,
        kind=row.kind,
        state=row.state,
        name=row.name,
        payload=row.payload,
        progress=row.progress,
        phase=row.phase,
        reason=row.reason,
        result=row.result,
        created=datetime.fromtimestamp(row.created, UTC),
        updated=datetime.fromtimestamp(row.updated, UTC),
        batch=row.batch,
        attempts=row.attempts,
        stop_requested=row.stop_requested,
        owner=row.owner or "",
    )
