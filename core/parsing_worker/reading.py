"""One file that is being read in a worker process: waits for its answers, and watches stop, time, memory, and whether
reading has to give way."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from core.errors import DocumentError, StoppedError
from core.parsing_worker.process import WorkerProcess
from core.parsing_worker.wire import error_from

POLL_S = 0.05
_WATCH_MEMORY_EVERY_S = 0.25
# Reading gives way no longer than so, at a time: it must come to an end however much is asked.
_PATIENCE_S = 30.0
_MB = 1024 * 1024

Progress = Callable[[int, int], None]
Check = Callable[[], bool]


class WorkerEnded(Exception):
    """The process is gone; `Reading` doesn't know why."""


class Reading:
    """timeout_s  of the worker's own time: what it is paused, or waits for somebody to ask, doesn't count
    is_busy   true while reading has to give way
    """

    def __init__(
        self,
        worker: WorkerProcess,
        name: str,
        *,
        stopped: Check,
        is_busy: Check,
        progress: Progress | None,
        timeout_s: float,
        memory_mb: int,
    ) -> None:
        self._worker, self._name = worker, name
        self._stopped, self._is_busy, self._progress = stopped, is_busy, progress
        self._timeout_s, self._memory_mb = timeout_s, memory_mb
        self._used_s = 0.0
        self._watched = time.monotonic()

    def give_way(self) -> None:
        """Waits while others go first. raises StoppedError"""
        deadline = time.monotonic() + _PATIENCE_S
        while self._is_busy() and time.monotonic() < deadline:
            refuse_if(self._stopped, self._name)
            time.sleep(POLL_S)

    def answer(self) -> tuple[dict, str]:
        """The next document or part: its header and text.

        raises  StoppedError; DocumentError, after which the process is gone where it was at fault; WorkerEnded
        """
        while True:
            answer = self._next()
            if answer is None:
                raise WorkerEnded
            header, text = answer
            if "document" in header:
                return header, text or ""
            if "error" in header:
                raise error_from(header["error"])
            if "out_of_memory" in header:
                raise self._too_big()
            if self._progress:
                self._progress(*header["progress"])

    def _next(self) -> tuple[dict, str | None] | None:
        paused_since, patience = 0.0, _PATIENCE_S
        try:
            while True:
                begin = time.monotonic()
                try:
                    return self._worker.answers.get(timeout=POLL_S)
                except queue.Empty:
                    pass
                finally:
                    now = time.monotonic()
                    self._used_s += 0.0 if paused_since else now - begin
                    self._look(now)
                if paused_since and (not self._is_busy() or now - paused_since > patience):
                    patience = _PATIENCE_S if not self._is_busy() else 0.0
                    paused_since = 0.0
                    self._worker.pause(False)
                elif not paused_since and patience and self._is_busy():
                    paused_since = now
                    self._worker.pause(True)
        finally:
            if paused_since:
                self._worker.pause(False)

    def _look(self, now: float) -> None:
        if self._stopped():
            self._worker.kill()
        refuse_if(self._stopped, self._name)
        if self._used_s > self._timeout_s:
            self._worker.kill()
            raise DocumentError(
                f"{self._name!r} took longer than {self._timeout_s:g} s to read and was given up; split it into "
                "smaller files or raise parse_timeout_s in the settings",
                file_name=self._name,
            )
        if now - self._watched > _WATCH_MEMORY_EVERY_S:
            self._watched = now
            if self._worker.rss() > self._worker.base_rss + self._memory_mb * _MB:
                raise self._too_big()

    def _too_big(self) -> DocumentError:
        self._worker.kill()
        return DocumentError(
            f"{self._name!r} needs more than {self._memory_mb} MB of memory to read and was given up; split it into "
            "smaller files or raise parse_memory_mb in the settings",
            file_name=self._name,
        )


def refuse_if(stopped: Check, name: str) -> None:
    if stopped():
        raise StoppedError(f"reading {name!r} was stopped")
