"""Resident memory of this process and all below it, in bytes."""

from __future__ import annotations

import threading

import psutil

from benchmarks.watched_process import resident_bytes


def resident() -> int:
    """Pages that processes share count for each of them."""
    return resident_bytes(psutil.Process())


class PeakMemory:
    """`peak` while the block runs, looked at every 20 ms."""

    def __init__(self) -> None:
        self.peak = resident()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            self.peak = max(self.peak, resident())
