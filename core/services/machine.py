"""What a figure was measured on: another processor or another llama.cpp makes it worthless."""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

_CPU_INFO = Path("/proc/cpuinfo")


@cache
def machine_name() -> str:
    """ "AMD EPYC 9354, 2 of 2 processors, llama.cpp 0.3.36": the same after a restart on the same machine."""
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    return f"{_processor()}, {usable} of {every} processors, llama.cpp {_llama_version()}"


class Look(NamedTuple):
    """Seconds until now: of the clock; of all processors, idle ones too; of the busy ones; of this process alone."""

    clock: float
    every: float
    busy: float
    ours: float


class QuietWatch:
    """Is the machine free enough to measure it?"""

    _LOOK_EVERY_S = 2.0
    _MOST = 0.2  # of all processors

    def __init__(self) -> None:
        self._last: Look | None = None

    def is_quiet(self) -> bool:
        """Between two calls that are far enough apart; this process counts too."""
        now, last = self.look(), self._last
        if last is not None and now.clock - last.clock < self._LOOK_EVERY_S:
            return False
        self._last = now
        return last is not None and now.busy - last.busy <= self._MOST * (now.every - last.every)

    def look(self) -> Look:
        import psutil

        times = psutil.cpu_times()
        # The kernel counts the time of guests as user's too.
        every = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        busy = every - times.idle - getattr(times, "iowait", 0.0)
        return Look(time.monotonic(), every, busy, time.process_time())

    def were_others_quiet(self, since: Look) -> bool:
        """Since that look; what this process did itself doesn't count."""
        now = self.look()
        others = (now.busy - since.busy) - (now.ours - since.ours)
        return others <= self._MOST * (now.every - since.every)


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _llama_version() -> str:
    try:
        return metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        return "none"
