"""One worker process and the threads that drain its pipes: answers into a queue, its standard error into the log."""

from __future__ import annotations

import logging
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import psutil

from core.parsing_worker.wire import read_frame, read_json, write_frame, write_json

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[2]
_TAIL_LINES = 30


class WorkerProcess:
    """Started on construction. `answers` holds (header, text or None) pairs; None: no more will come.

    command  the program that answers
    """

    def __init__(self, command: Sequence[str] = (sys.executable, "-m", "core.parsing_worker.child")) -> None:
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONIOENCODING": "utf-8"},
            # Ctrl-C in the terminal is for the app, which then ends its workers.
            start_new_session=os.name == "posix",
        )
        self.answers: queue.SimpleQueue[tuple[dict, str | None] | None] = queue.SimpleQueue()
        self.handled = 0
        self.base_rss = 0
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._threads = [
            threading.Thread(target=drain, name=f"parsing-worker-{name}", daemon=True)
            for name, drain in (("answers", self._drain_answers), ("log", self._drain_log))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def send(self, request: dict, data: bytes | None = None) -> None:
        """raises OSError if the process is gone."""
        write_json(self.process.stdin, request)
        if data is not None:
            write_frame(self.process.stdin, data)

    def pause(self, is_paused: bool) -> None:
        """Keeps it from computing, or lets it go on. Nothing where the process is gone."""
        try:
            self.send({"pause": is_paused})
        except OSError:
            logger.debug("the parsing worker was gone before it could be paused")

    def rss(self) -> int:
        """Resident memory in bytes; 0 when the process is gone."""
        try:
            return psutil.Process(self.process.pid).memory_info().rss
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End it at once and leave no zombie, no thread and no open pipe."""
        self.process.kill()
        self._wait()

    def close(self, *, grace_s: float = 2.0) -> None:
        """Close its input, which ends it; kill it where that takes longer than `grace_s`."""
        self._close_input()
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._wait()

    def _wait(self) -> None:
        self.process.wait()
        self._close_input()
        for thread in self._threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def _close_input(self) -> None:
        try:
            self.process.stdin.close()
        except OSError:
            logger.debug("the parsing worker was gone before its input was closed")

    def _drain_answers(self) -> None:
        try:
            while True:
                header = read_json(self.process.stdout)
                text = read_frame(self.process.stdout).decode("utf-8") if "document" in header else None
                self.answers.put((header, text))
        except (EOFError, OSError):
            logger.debug("the parsing worker said its last")
        except (ValueError, OverflowError, MemoryError, RecursionError) as error:
            # Memory that a damaged file has overwritten: whoever waits hears it as a crash.
            logger.warning("the parsing worker answered nonsense: %s", error)
        finally:
            self.answers.put(None)

    def _drain_log(self) -> None:
        for line in self.process.stderr:
            message = line.decode("utf-8", "replace").rstrip()
            self.tail.append(message)
            logger.debug("parsing worker: %s", message)
