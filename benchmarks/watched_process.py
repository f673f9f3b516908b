"""A program run to its end, with the memory of its whole process tree looked at ten times a second."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

EVERY_S = 0.1


class WatchedProcess:
    """`samples`: (seconds of `time.time()`, resident bytes of the process and all below it)."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.samples: list[tuple[float, int]] = []
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(command), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self._log = log

    def wait(self, timeout_s: float) -> str:
        """Until it ends; returns what went wrong in one line, or "" where nothing did.

        It and all below it are ended after `timeout_s`, and when this is interrupted.
        """
        tree = psutil.Process(self._process.pid)
        ends = time.monotonic() + timeout_s
        try:
            while self._process.poll() is None and time.monotonic() < ends:
                self.samples.append((time.time(), resident_bytes(tree)))
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(EVERY_S)
        finally:
            is_late = self._process.poll() is None
            if is_late:
                stop_tree(tree)
                self._process.wait()
        if is_late:
            return f"stopped after {timeout_s:.0f} s"
        if self._process.returncode == 0:
            return ""
        lines = [line for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"exit status {self._process.returncode}"

    def peak_mb(self, span: Sequence[float]) -> float | None:
        """The most memory between two moments, in MB; None where the span was shorter than a look."""
        found = [size for moment, size in self.samples if span[0] <= moment <= span[1]]
        return max(found) / 1e6 if found else None


def resident_bytes(process: psutil.Process) -> int:
    """Resident memory of a process and all below it; pages that they share count for each."""
    total = 0
    for member in [process, *_below(process)]:
        with suppress(psutil.NoSuchProcess):
            total += member.memory_info().rss
    return total


def stop_tree(process: psutil.Process) -> None:
    for member in [*_below(process), process]:
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []
