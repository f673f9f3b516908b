"""ParsingWorker: parses any supported file in a warm process, limited in time and memory, and can be stopped."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from core.domain import Document
from core.errors import DocumentError, StoppedError
from core.parsing_worker.process import WorkerProcess
from core.parsing_worker.wire import document_from, error_from
from core.text.file_names import display_name

logger = logging.getLogger(__name__)

_START_TIMEOUT_S = 60.0
_POLL_S = 0.05
_WATCH_MEMORY_EVERY_S = 0.25
_GROWN_BYTES = 256 * 1024 * 1024
_MB = 1024 * 1024

Progress = Callable[[int, int], None]


class ParsingWorker:
    """One file at a time; calls from other threads wait for their turn. The process starts with the first file.

    timeout_s  longest wall time for one file
    memory_mb  what one file may take on top of the worker's own size, measured after its libraries are loaded
    recycle_after  files after which the process is replaced, so that leaks of the libraries don't add up
    """

    def __init__(self, timeout_s: float = 300, memory_mb: int = 2048, *, recycle_after: int = 200) -> None:
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._recycle_after = recycle_after
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None

    def parse(
        self,
        source: bytes | Path | str,
        file_name: str,
        password: str | None = None,
        stop: threading.Event | Callable[[], bool] | None = None,
        progress: Progress | None = None,
    ) -> Document:
        """The document of a file given by its bytes or, without a copy through the pipe, by its path.

        stop      looked at about every 50 ms, while waiting for the turn too
        progress  called with (pages done, all pages) by parsers that go page by page, in this thread
        raises    DocumentError (PasswordError, UnsupportedFileError), also when the file takes too long, too much
                  memory, or kills the worker; StoppedError; the worker is fit for the next file after each of them
        """
        stopped = getattr(stop, "is_set", stop) or (lambda: False)
        name = display_name(file_name)
        while not self._lock.acquire(timeout=_POLL_S):
            _refuse_if(stopped, name)
        try:
            worker = self._ready_worker(stopped, name)
            is_path = not isinstance(source, bytes | bytearray | memoryview)
            request = {"file_name": file_name, "password": password, "memory_mb": self._memory_mb}
            request |= {"path": str(Path(source).absolute())} if is_path else {"bytes": True}
            try:
                worker.send(request, None if is_path else bytes(source))
            except OSError:
                raise self._crashed(name) from None
            return self._outcome(worker, name, stopped, progress)
        except BaseException as error:
            # After anything but a plain answer the process is in an unknown state.
            if not (isinstance(error, DocumentError) and self._worker and self._worker.is_alive):
                self._discard()
            raise
        finally:
            self._lock.release()

    def warm(self) -> None:
        """Start the process now, so that the first file doesn't wait about a second for it."""
        with self._lock:
            self._ready_worker(lambda: False, "")

    def close(self) -> None:
        """End the process. A later `parse` starts a new one."""
        with self._lock:
            if self._worker:
                self._worker.close()
                self._worker = None

    def __enter__(self) -> ParsingWorker:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _ready_worker(self, stopped: Callable[[], bool], name: str) -> WorkerProcess:
        worker = self._worker
        if worker and (not worker.is_alive or self._is_worn(worker)):
            logger.info("replacing the parsing worker after %d files", worker.handled)
            worker.close()
            worker = self._worker = None
        if worker is None:
            worker = self._worker = WorkerProcess()
            self._start(worker, stopped, name)
            worker.base_rss = worker.rss()
        return worker

    def _start(self, worker: WorkerProcess, stopped: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            _refuse_if(stopped, name)
            try:
                if worker.answers.get(timeout=_POLL_S) is not None:
                    return
            except queue.Empty:
                continue
            break
        logger.warning("the parsing worker didn't start:\n%s", "\n".join(worker.tail))
        self._discard()
        raise DocumentError("the process that reads files didn't start; the log says why", file_name=name)

    def _is_worn(self, worker: WorkerProcess) -> bool:
        return worker.handled >= self._recycle_after or worker.rss() > worker.base_rss + _GROWN_BYTES

    def _outcome(
        self, worker: WorkerProcess, name: str, stopped: Callable[[], bool], progress: Progress | None
    ) -> Document:
        deadline = time.monotonic() + self._timeout_s
        worker.handled += 1
        limit = worker.base_rss + self._memory_mb * _MB

        def watch_memory() -> None:
            if worker.rss() > limit:
                raise self._too_big(name)

        while True:
            answer = self._next(worker, deadline, stopped, name, watch_memory)
            if answer is None:
                raise self._crashed(name)
            header, text = answer
            if "document" in header:
                return document_from(header["document"], text or "")
            if "error" in header:
                raise error_from(header["error"])
            if "out_of_memory" in header:
                raise self._too_big(name)
            if progress:
                progress(*header["progress"])

    def _next(
        self,
        worker: WorkerProcess,
        deadline: float,
        stopped: Callable[[], bool],
        name: str,
        watch: Callable[[], None],
    ) -> tuple[dict, str | None] | None:
        """The next answer, None at the end of the process; a stop, the deadline and `watch` end it by their error."""
        watched = time.monotonic()
        while True:
            try:
                return worker.answers.get(timeout=_POLL_S)
            except queue.Empty:
                now = time.monotonic()
            if stopped():
                worker.kill()
            _refuse_if(stopped, name)
            if now > deadline:
                worker.kill()
                raise DocumentError(
                    f"{name!r} took longer than {self._timeout_s:g} s to read and was given up; split it into smaller "
                    "files or raise parse_timeout_s in the settings",
                    file_name=name,
                )
            if now - watched > _WATCH_MEMORY_EVERY_S:
                watched = now
                watch()

    def _too_big(self, name: str) -> DocumentError:
        self._discard()
        return DocumentError(
            f"{name!r} needs more than {self._memory_mb} MB of memory to read and was given up; split it into smaller "
            "files or raise parse_memory_mb in the settings",
            file_name=name,
        )

    def _crashed(self, name: str) -> DocumentError:
        tail = "\n".join(self._worker.tail) if self._worker else ""
        self._discard()
        logger.warning("the parsing worker ended while it read %r", name)
        logger.debug("last words of the parsing worker:\n%s", tail)
        return DocumentError(
            f"{name!r} made its reader fail; it is probably damaged: open it in its own program, save it again and "
            "add that",
            file_name=name,
        )

    def _discard(self) -> None:
        if self._worker:
            self._worker.kill()
            self._worker = None


def _refuse_if(stopped: Callable[[], bool], name: str) -> None:
    if stopped():
        raise StoppedError(f"reading {name!r} was stopped")
