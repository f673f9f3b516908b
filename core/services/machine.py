"""What a figure was measured on: another processor or another llama.cpp makes it worthless."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def machine_name() -> str:
    """ "AMD EPYC 9354, 2 of 2 processors, llama.cpp 0.3.36": the same after a restart on the same machine."""
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    return f"{_processor()}, {usable} of {every} processors, llama.cpp {_llama_version()}"


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
