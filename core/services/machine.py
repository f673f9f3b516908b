"""What a figure was measured on: another processor or another llama.cpp makes it worthless."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def machine_name() -> str:
    """ "AMD EPYC 9354, 2 of 2 processors, llama.cpp 0.3.36": the same after a restart on the same machine."""
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    return f"{_processor()}, {usable} of {every} processors, llama.cpp {_llama_version()}"


class QuietWatch:
    """Is the machine free enough to measure it? Looks at the time between two calls that are far enough apart."""

    _LOOK_EVERY_S = 2.0
    _MOST_PERCENT = 20.0

    def __init__(self) -> None:
        self._looked: float | None = None

    def is_quiet(self) -> bool:
        import psutil

        now = time.monotonic()
        if self._looked is not None and now - self._looked < self._LOOK_EVERY_S:
            return False
        percent, is_first = psutil.cpu_percent(), self._looked is None
        self._looked = now
        return not is_first and percent <= self._MOST_PERCENT


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
