"""The gate that heavy computing passes, so that an answer doesn't share the processor with indexing.

    with gate.answering(): …        enters at once, and any number together
    with gate.indexing(stop): …     one at a time, first come first served, while nobody is answering
    gate.give_way(stop)             waits until nobody is answering: before work that needs no turn
    gate.is_answering               for work in another process, which pauses meanwhile

An answer never waits: a batch that is being computed ends within a second, and the next one waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import StoppedError
from core.protocols import StopSignal

_LOOK_FOR_STOP_S = 0.1


class PriorityGate:
    """`core.protocols.ComputeGate` inside one process.

    patience_s  so long a batch waits for answers at most; then one may pass, so that indexing comes to its end however
                much is asked
    """

    def __init__(self, *, patience_s: float = 30.0) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._answers = 0
        self._queue: deque[object] = deque()
        self._is_indexing = False

    @contextmanager
    def answering(self) -> Iterator[None]:
        with self._changed:
            self._answers += 1
        try:
            yield
        finally:
            with self._changed:
                self._answers -= 1
                self._changed.notify_all()

    @property
    def is_answering(self) -> bool:
        return self._answers > 0

    def give_way(self, stop: StopSignal | None = None) -> None:
        """raises StoppedError when `stop` is set while it waits"""
        deadline = time.monotonic() + self._patience_s
        with self._changed:
            while self._answers and time.monotonic() < deadline:
                _refuse_if(stop)
                self._changed.wait(_LOOK_FOR_STOP_S)

    @contextmanager
    def indexing(self, stop: StopSignal | None = None) -> Iterator[None]:
        """raises StoppedError when `stop` is set while it waits; nothing was computed then."""
        self._enter(stop)
        try:
            yield
        finally:
            with self._changed:
                self._is_indexing = False
                self._changed.notify_all()

    def _enter(self, stop: StopSignal | None) -> None:
        ticket = object()
        deadline = time.monotonic() + self._patience_s
        with self._changed:
            self._queue.append(ticket)
            try:
                while not self._may_enter(ticket, deadline):
                    _refuse_if(stop)
                    self._changed.wait(_LOOK_FOR_STOP_S)
                self._is_indexing = True
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _may_enter(self, ticket: object, deadline: float) -> bool:
        if self._is_indexing or self._queue[0] is not ticket:
            return False
        return not self._answers or time.monotonic() >= deadline


def _refuse_if(stop: StopSignal | None) -> None:
    if stop is not None and stop.is_set():
        raise StoppedError("stopped while waiting for an answer to end")
