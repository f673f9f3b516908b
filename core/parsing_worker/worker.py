"""ParsingWorker: parses any supported file in a warm process, limited in time and memory, and can be stopped."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.domain import Document
from core.errors import DocumentError
from core.parsers.parts import DocumentPart
from core.parsing_worker.process import WorkerProcess
from core.parsing_worker.reading import POLL_S, Progress, Reading, WorkerEnded, refuse_if
from core.parsing_worker.wire import document_from, part_from
from core.text.file_names import display_name

logger = logging.getLogger(__name__)

_START_TIMEOUT_S = 60.0
_GROWN_BYTES = 256 * 1024 * 1024

Stop = threading.Event | Callable[[], bool]


class ParsingWorker:
    """One file at a time; calls from other threads wait for their turn. The process starts with the first file.

    timeout_s  longest time that the worker may take for one file
    memory_mb  what one file may take on top of the worker's own size, measured after its libraries are loaded
    recycle_after  files after which the process is replaced, so that leaks of the libraries don't add up
    is_busy    while it says so the worker pauses, and begins with nothing
    rest_after_s  so long after the last file the process ends: its libraries take memory that others may need
    """

    def __init__(
        self,
        timeout_s: float = 300,
        memory_mb: int = 2048,
        *,
        recycle_after: int = 200,
        is_busy: Callable[[], bool] = lambda: False,
        rest_after_s: float = 180.0,
    ) -> None:
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._recycle_after = recycle_after
        self._is_busy = is_busy
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._rest_after_s, self._last_used = rest_after_s, 0.0
        self._rest: threading.Timer | None = None

    def parse(
        self,
        source: bytes | Path | str,
        file_name: str,
        password: str | None = None,
        stop: Stop | None = None,
        progress: Progress | None = None,
    ) -> Document:
        """The document of a file given by its bytes or, without a copy through the pipe, by its path.

        stop      looked at about every 50 ms, while waiting for the turn too
        progress  called with (pages done, all pages) by parsers that go page by page, in this thread
        raises    DocumentError (PasswordError, UnsupportedFileError), also when the file takes too long, too much
                  memory, or kills the worker; StoppedError; the worker is fit for the next file after each of them
        """
        with self._reading(file_name, stop, progress) as reading:
            self._ask(source, file_name, password)
            header, text = reading.answer()
            return document_from(header["document"], text)

    def parse_parts(
        self,
        path: Path | str,
        file_name: str,
        password: str | None = None,
        stop: Stop | None = None,
        progress: Progress | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> Iterator[DocumentPart]:
        """The same in parts: the worker reads one when it's asked for, and nothing in between.

        Other files wait until all parts were taken or the iterator is closed.

        after  of the last part that is there already: the first one given is that behind it
        """
        with self._reading(file_name, stop, progress) as reading:
            self._ask(path, file_name, password, parts=True, after=dict(after) if after else None)
            is_last = False
            try:
                while not is_last:
                    header, text = reading.answer()
                    part = part_from(header, text)
                    is_last = part.is_last
                    yield part
                    del part, header, text  # not in memory while the next one is read
                    if not is_last:
                        reading.give_way()
                        self._send({"go_on": True})
            except GeneratorExit:
                if not is_last:
                    self._end_parts()
                raise

    @contextmanager
    def _reading(self, file_name: str, stop: Stop | None, progress: Progress | None) -> Iterator[Reading]:
        stopped = getattr(stop, "is_set", stop) or (lambda: False)
        name = display_name(file_name)
        while not self._lock.acquire(timeout=POLL_S):
            refuse_if(stopped, name)
        try:
            worker = self._ready_worker(stopped, name)
            worker.handled += 1
            yield Reading(
                worker,
                name,
                stopped=stopped,
                is_busy=self._is_busy,
                progress=progress,
                timeout_s=self._timeout_s,
                memory_mb=self._memory_mb,
            )
        except (WorkerEnded, OSError):
            raise self._crashed(name) from None
        except GeneratorExit:
            raise
        except BaseException as error:
            # After anything but a plain answer the process is in an unknown state.
            if not (isinstance(error, DocumentError) and self._worker and self._worker.is_alive):
                self._discard()
            raise
        finally:
            self._rest_later()
            self._lock.release()

    def _ask(self, source: bytes | Path | str, file_name: str, password: str | None, **more: Any) -> None:
        is_path = not isinstance(source, bytes | bytearray | memoryview)
        request = {"file_name": file_name, "password": password, "memory_mb": self._memory_mb, **more}
        request |= {"path": str(Path(source).absolute())} if is_path else {"bytes": True}
        self._send(request, None if is_path else bytes(source))

    def _send(self, request: Mapping[str, Any], data: bytes | None = None) -> None:
        """raises OSError where the process is gone"""
        if self._worker:
            self._worker.send(dict(request), data)

    def _end_parts(self) -> None:
        try:
            self._send({"go_on": False})
        except OSError:
            # Its crash is nobody's error any more, and may not meet the next file.
            self._discard()

    def warm(self) -> None:
        """Start the process now, so that the first file doesn't wait about a second for it."""
        with self._lock:
            self._ready_worker(lambda: False, "")
            self._rest_later()

    def close(self) -> None:
        """End the process. A later `parse` starts a new one."""
        with self._lock:
            self._end_process()
            rest, self._rest = self._rest, None
        if rest is not None:
            rest.cancel()
            rest.join()

    def _end_process(self) -> None:
        if self._worker:
            self._worker.close()
            self._worker = None

    def _rest_later(self) -> None:
        """One timer, however many files come: when it's due it looks when the last one was."""
        self._last_used = time.monotonic()
        if self._rest is None:
            self._set_timer(self._rest_after_s)

    def _set_timer(self, seconds: float) -> None:
        self._rest = threading.Timer(seconds, self._rest_if_unused)
        self._rest.daemon = True
        self._rest.start()

    def _rest_if_unused(self) -> None:
        with self._lock:
            if self._rest is not threading.current_thread():
                return  # closed meanwhile
            left = self._last_used + self._rest_after_s - time.monotonic()
            if left > 0:
                self._set_timer(left)
            else:
                self._end_process()
                self._rest = None

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
            refuse_if(stopped, name)
            try:
                if worker.answers.get(timeout=POLL_S) is not None:
                    return
            except queue.Empty:
                continue
            break
        logger.warning("the parsing worker didn't start:\n%s", "\n".join(worker.tail))
        self._discard()
        raise DocumentError("the process that reads files didn't start; the log says why", file_name=name)

    def _is_worn(self, worker: WorkerProcess) -> bool:
        return worker.handled >= self._recycle_after or worker.rss() > worker.base_rss + _GROWN_BYTES

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
