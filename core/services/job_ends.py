"""How a job ends: done, failed with one sentence, stopped, or waiting again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from core.errors import FootnoteError, PartsGoneError, StoppedError, StorageError
from core.records import SaveResult
from core.services.running_jobs import RunningJob, RunningJobs

logger = logging.getLogger(__name__)


class JobEnds:
    """Writes the end of each job, once.

    discard      forgets the parts that are kept of a job nobody goes on with
    closing      set while the service closes: what was interrupted waits again
    begin_again  called when a job waits again that can be taken at once
    ended        called after each end
    """

    def __init__(
        self,
        running: RunningJobs,
        discard: Callable[[RunningJob], None],
        closing: threading.Event,
        *,
        begin_again: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._running, self._discard, self._closing = running, discard, closing
        self._again, self._ended = begin_again, ended

    def done(self, job: RunningJob, saved: SaveResult) -> None:
        """With what came of it, "indexed", "duplicate" …, and its figures."""
        document = saved.document
        result: dict[str, Any] = {
            "status": saved.status,
            "document_id": document.id,
            "pages": document.pages,
            "segments": document.segments,
            "tokens": job.tokens,
            "seconds": job.seconds,
            "warnings": list(document.warnings),
        }
        reason = ""
        if saved.status == "duplicate":
            result["duplicate_of"] = saved.duplicate_of
            reason = f"same content as {saved.duplicate_of!r}"
        elif saved.status == "unchanged":
            reason = "already indexed; nothing was to be done"
        self.settle(job, lambda: self._running.finish(job, "done", reason=reason, result=result))
        logger.info("job %d: %s, %d segments in %.1f s", job.record.id, saved.status, document.segments, job.seconds)

    def fail(self, job: RunningJob, error: Exception) -> None:
        """With one sentence; where it was stopped, closed or lost it ends as that."""
        if isinstance(error, StoppedError) or (job.ended_by and isinstance(error, FootnoteError)):
            self._end_early(job)
            return
        if isinstance(error, PartsGoneError):
            self._begin_again(job)
            return
        name = job.record.name
        if isinstance(error, FootnoteError):
            state, reason = getattr(error, "status", "failed"), str(error)
        else:
            logger.error("job %d failed unexpectedly", job.record.id, exc_info=error)
            kind = type(error).__name__
            state = "failed"
            reason = f"{name!r} could not be indexed: something unforeseen happened ({kind}; see the log)"
        result = {"status": state, "seconds": job.seconds}
        self.settle(job, lambda: self._running.finish(job, state, reason=reason, result=result), forget_parts=True)

    def _begin_again(self, job: RunningJob) -> None:
        self.settle(job, lambda: self._running.release(job))
        self._again()

    def _end_early(self, job: RunningJob) -> None:
        why = job.ended_by or ("closing" if self._closing.is_set() else "stopped")
        if why == "stopped":
            reason = f"{job.record.name!r} was stopped; nothing of it was kept in the index"
            result = {"status": "stopped", "seconds": job.seconds}
            self.settle(
                job, lambda: self._running.finish(job, "stopped", reason=reason, result=result), forget_parts=True
            )
        elif why == "closing":
            self.settle(job, lambda: self._running.release(job))
        else:
            self.settle(job, lambda: self._running.forget(job))

    def settle(self, job: RunningJob, write: Callable[[], None], *, forget_parts: bool = False) -> None:
        """The end of a job, once: what comes after it changes nothing.

        Where even this can't be written (disk full), the lease ends by itself and the job is tried again.
        """
        with job.ending:
            if job.has_ended:
                return
            job.has_ended = True
            job.stop.set()  # for its parts that are still on their way
            try:
                if forget_parts:
                    self._discard(job)
                write()
            except StorageError as error:
                logger.warning("the end of job %d could not be kept: %s", job.record.id, error)
                self._running.forget(job)
        self._ended()
