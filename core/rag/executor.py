"""Threads for parallel retrieval: as many as there is work, and none that waits for more than a second."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future


class IdleThreadExecutor(Executor):
    """Runs every task at once; a thread without work ends after `idle_s` seconds. Nothing has to be shut down.

    Unlike a pool with a maximum it can't deadlock when a task waits for another task.
    """

    def __init__(self, *, idle_s: float = 1.0) -> None:
        self._idle_s = idle_s
        self._tasks: queue.SimpleQueue[tuple[Future, Callable, tuple, dict]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._waiting = 0
        self._closed = False

    def submit(self, fn: Callable, /, *args, **kwargs) -> Future:
        future: Future = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor is shut down")
            self._tasks.put((future, fn, args, kwargs))
            self._waiting += 1
            starts = self._waiting > self._idle
        if starts:
            threading.Thread(target=self._work, name="retrieval", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more tasks are taken; threads end by themselves."""
        with self._lock:
            self._closed = True

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                task = self._tasks.get(timeout=self._idle_s)
            except queue.Empty:
                with self._lock:
                    self._idle -= 1
                    if self._waiting > self._idle:
                        continue  # a task came in the moment between: it counted on this thread
                return
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
            _run(*task)


def _run(future: Future, fn: Callable, args: tuple, kwargs: dict) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = fn(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - a future carries whatever it was to the one who waits for it
        future.set_exception(error)
    else:
        future.set_result(result)
