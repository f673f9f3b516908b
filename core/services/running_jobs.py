"""The jobs that this process is working on: their leases, their stops, and who else may have left some behind."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

from core.errors import StorageError
from core.protocols import JobStore
from core.records import JobRecord
from core.services.owners import is_dead

logger = logging.getLogger(__name__)

End = Literal["", "stopped", "closing", "lost"]
PROGRESS_EVERY_S = 0.3
_MOST_RUNNING = 1000
# Hundreds of files are added one after the other, and each wakes.
_LOOK_AGAIN_S = 0.2
_IN_PROCESS = ("splitting", "embedding", "saving")


class RunningJob:
    """One claimed job. `stop` is set when its work has to end; `ended_by` says why. It's also the `StopSignal`.

    ending      held while a part of it is kept, or its end is written: nothing is kept after the end
    has_ended   its end is written, or left to somebody else
    has_parts   parts of it may be kept that aren't published
    tokens      embedded so far
    leased_until  by the wall clock: a computer that slept has lost its leases
    """

    def __init__(self, record: JobRecord, jobs: JobStore, owner: str) -> None:
        self.record = record
        self.stop = threading.Event()
        self.ended_by: End = ""
        self.ending = threading.RLock()
        self.has_ended = self.has_parts = False
        self.tokens = 0
        self.leased_until = 0.0
        self._progress = 0.0
        self._jobs, self._owner = jobs, owner
        self._phase, self._every_s = "", PROGRESS_EVERY_S
        self._told = (0.0, "")
        self._begin = self._told_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it was claimed."""
        return time.monotonic() - self._begin

    def end(self, why: End) -> None:
        if not self.ended_by:
            self.ended_by = why
        self.stop.set()

    def report(self, progress: float, phase: str, *, every_s: float = PROGRESS_EVERY_S) -> None:
        """Told by the thread of the heartbeats, at most once in `every_s`: a transaction would hold the work up, and
        small files are done before anybody looks."""
        self._progress = max(self._progress, progress)
        self._phase, self._every_s = phase, every_s

    def tell(self) -> None:
        """Writes what was reported last, where it's due. raises StorageError"""
        now, news = time.monotonic(), (self._progress, self._phase)
        if news != self._told and now - self._told_at >= self._every_s:
            self._jobs.progress(self.record.id, self._owner, *news)
            self._told, self._told_at = news, now


class RunningJobs:
    """Keeps the leases of all running jobs alive from one thread, and sees who was asked to stop.

    lease_s      after so long without a heartbeat another process may take a job over
    heartbeat_s  well below lease_s
    """

    def __init__(self, jobs: JobStore, owner: str, *, lease_s: float, heartbeat_s: float, look_s: float) -> None:
        self._jobs, self._owner = jobs, owner
        self._lease_s, self._heartbeat_s, self._look_s = lease_s, heartbeat_s, look_s
        self._lock = threading.Lock()
        self._running: dict[int, RunningJob] = {}

    def claim(self, *, most_bytes: int | None = None) -> RunningJob | None:
        until = time.time() + self._lease_s  # at least: the lease begins when the store has waited for its turn
        record = self._jobs.claim(self._owner, lease_s=self._lease_s, most_bytes=most_bytes)
        if record is None:
            return None
        job = RunningJob(record, self._jobs, self._owner)
        job.leased_until = until
        with self._lock:
            self._running[record.id] = job
        return job

    def keep(self, job: RunningJob, lease_s: float, *, for_s: float) -> bool:
        """Longer leases, for a step during which nobody can send heartbeats and which may take `for_s`; nothing where
        the present ones are long enough. False: this job's was lost.

        Of all running jobs: while one is saved, the database takes no other's heartbeat.
        """
        running = [other for other in self.all() if other.ended_by != "lost"]
        if min((other.leased_until for other in running), default=0.0) - time.time() > for_s:
            return True
        until = time.time() + lease_s
        held = self._jobs.heartbeat_all(self._owner, lease_s=lease_s)
        for other in running:
            if other.record.id in held:
                other.leased_until = until
        return job.record.id in held

    def finish(self, job: RunningJob, state: str, *, reason: str = "", result: dict | None = None) -> None:
        self.forget(job)
        self._jobs.finish(job.record.id, self._owner, state, reason=reason, result=result)

    def release(self, job: RunningJob) -> None:
        self.forget(job)
        self._jobs.release(job.record.id, self._owner)

    def all(self) -> list[RunningJob]:
        with self._lock:
            return list(self._running.values())

    def watch(self, closing: threading.Event, wake: Callable[[float], bool]) -> None:
        """Runs until `closing`; `wake(seconds)` waits at most so long, and says whether something may have changed."""
        looked = time.monotonic()
        while not closing.is_set():
            running = self.all()
            was_woken = wake(min(PROGRESS_EVERY_S, self._look_s) if running else self._look_s)
            if running and time.monotonic() - looked >= (_LOOK_AGAIN_S if was_woken else self._look_s):
                looked = time.monotonic()
                _guarded(lambda running=running: self._look_for_stops(running))
            for job in running:
                _guarded(lambda job=job: self._look_after(job))

    def take_over_from_the_dead(self) -> None:
        """Jobs of processes that were killed needn't wait for their lease to end.

        The attempt counts only where that process was computing it: then the file itself may have been what killed it.
        Files are read in a process of their own, and several wait for their turn.
        """
        for record in self._jobs.list(states=("running",), limit=_MOST_RUNNING):
            if not record.owner or not is_dead(record.owner):
                continue
            logger.info("job %d was left behind by %s", record.id, record.owner)
            if record.phase.startswith(_IN_PROCESS):
                self._jobs.heartbeat(record.id, record.owner, lease_s=-1)
            else:
                self._jobs.release(record.id, record.owner)

    def _look_for_stops(self, running: Sequence[RunningJob]) -> None:
        known = {record.id: record for record in self._jobs.list(states=("running",), limit=_MOST_RUNNING)}
        for job in running:
            record = known.get(job.record.id)
            if record is not None and record.stop_requested:
                job.end("stopped")

    def _look_after(self, job: RunningJob) -> None:
        if job.has_ended or job.ended_by == "lost":
            return
        if job.leased_until - time.time() < self._lease_s - self._heartbeat_s:
            self._beat(job)
        job.tell()

    def _beat(self, job: RunningJob) -> None:
        until = time.time() + self._lease_s
        if self._jobs.heartbeat(job.record.id, self._owner, lease_s=self._lease_s):
            job.leased_until = until
        else:
            # Finished a moment ago, or taken over by somebody else.
            job.end("lost")

    def forget(self, job: RunningJob) -> None:
        """No more heartbeats; the lease ends by itself."""
        with self._lock:
            self._running.pop(job.record.id, None)


def _guarded(step: Callable[[], None]) -> None:
    """The edge of the thread that keeps all leases: what goes wrong with one job is no end of the others."""
    try:
        step()
    except StorageError as error:
        logger.warning("no heartbeat: %s", error)
    except Exception:  # the edge of a thread
        logger.exception("no heartbeat: something unforeseen happened")
