"""What runs in the worker process. An error that isn't a DocumentError ends it; the parent says so and starts another.

It ends by itself when its standard input closes, in the middle of a file too: no worker outlives the app.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from core.errors import DocumentError
from core.parsing_worker.wire import (
    document_header,
    error_header,
    part_header,
    read_frame,
    read_json,
    write_frame,
    write_json,
)
from core.text.file_names import display_name

if TYPE_CHECKING:
    from core.parsers.auto import AutoParser

# Thread stacks and allocator arenas take addresses without taking memory.
_ADDRESS_SLACK_BYTES = 512 * 1024 * 1024
_LOOK_EVERY_S = 0.05  # whether the pause is over


def main() -> None:
    requests, answers = sys.stdin.buffer, _private_stdout()
    if hasattr(os, "nice"):
        os.nice(10)  # an answer that is being written goes first
    parser = _warm_parser()
    base = _address_space_bytes()
    incoming: queue.SimpleQueue[tuple[dict, bytes | None]] = queue.SimpleQueue()
    pause = _Pause()
    threading.Thread(target=_receive, args=(requests, incoming, pause), daemon=True).start()
    write_json(answers, {"ready": True})
    while True:
        request, data = incoming.get()
        if "file_name" not in request:
            continue  # for a file that ended meanwhile
        _limit_memory(base, request["memory_mb"])
        parser.progress = lambda done, total: write_json(answers, {"progress": [done, total]})
        _answer(parser, request, data, answers, incoming)


def _answer(
    parser: AutoParser, request: dict, data: bytes | None, answers: BinaryIO, incoming: queue.SimpleQueue
) -> None:
    name = request["file_name"]
    try:
        if request.get("parts"):
            _answer_parts(parser, request, answers, incoming)
            return
        if data is None:
            data = _read(request["path"], name)
        document = parser.parse(data, name, request["password"])
        header, text = document_header(document), document.text.encode("utf-8")
    except DocumentError as error:
        write_json(answers, error_header(error))
        return
    except MemoryError:
        # What is left of the memory is no good place to go on: the parent starts a new worker.
        write_json(answers, {"out_of_memory": True})
        os._exit(1)
    write_json(answers, header)
    write_frame(answers, text)


def _answer_parts(parser: AutoParser, request: dict, answers: BinaryIO, incoming: queue.SimpleQueue) -> None:
    name = request["file_name"]
    try:
        parts = parser.parts(Path(request["path"]), name, request["password"], request["after"])
        for part in parts:
            write_json(answers, part_header(part))
            write_frame(answers, part.document.text.encode("utf-8"))
            if part.is_last:
                return
            del part
            following, _ = incoming.get()
            if not following.get("go_on"):
                parts.close()
                return
    except OSError as error:
        raise _unreadable(name, error) from error


def _read(path: str, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> DocumentError:
    shown = display_name(name)
    return DocumentError(f"{shown!r} can't be opened: {error.strerror or error}", file_name=shown)


class _Pause:
    """Stops the main thread between two of its steps, on POSIX systems; elsewhere it only begins with nothing new.

    No SIGSTOP: a stopped process would outlive an app that is killed.
    """

    def __init__(self) -> None:
        self._is_set = False
        if os.name == "posix":
            signal.signal(signal.SIGUSR1, self._wait)
            signal.siginterrupt(signal.SIGUSR1, False)

    def set(self, is_paused: bool) -> None:
        self._is_set = is_paused
        if is_paused and os.name == "posix":
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    def _wait(self, *_: object) -> None:
        # No lock, so no `Event`: the next signal may come in here, and would wait for what this one holds.
        while self._is_set:
            time.sleep(_LOOK_EVERY_S)


def _receive(stream: BinaryIO, incoming: queue.SimpleQueue, pause: _Pause) -> None:
    try:
        while True:
            request = read_json(stream)
            if "pause" in request:
                pause.set(request["pause"])
            else:
                incoming.put((request, read_frame(stream) if request.get("bytes") else None))
    except (EOFError, OSError, ValueError):
        os._exit(0)


def _private_stdout() -> BinaryIO:
    """The answers' own stream; what libraries print to standard output goes to standard error."""
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return private


def _warm_parser() -> AutoParser:
    """All parsers' libraries are loaded here, so that their size is part of the base."""
    for library in ("bs4", "lxml.html", "openpyxl", "pymupdf"):
        importlib.import_module(library)
    from core.parsers import auto_parser

    return auto_parser()


def _address_space_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0  # no Linux: the parent's watch over the resident memory is the only limit


def _limit_memory(base_bytes: int, allowance_mb: int) -> None:
    if not base_bytes:
        return
    import resource

    limit = base_bytes + allowance_mb * 1024 * 1024 + _ADDRESS_SLACK_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
