"""A program run to its end, with the memory of its whole process tree looked at ten times a second."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
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
        """Until it ends; returns what went wrong in one line, or "" where nothing did."""
        tree = psutil.Process(self._process.pid)
        ends = time.monotonic() + timeout_s
        while True:
            try:
                self._process.wait(EVERY_S)
                break
            except subprocess.TimeoutExpired:
                self.samples.append((time.time(), resident_bytes(tree)))
            if time.monotonic() > ends:
                stop_tree(tree)
                self._process.wait()
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
    try:
        for member in [process, *process.children(recursive=True)]:
            try:
                total += member.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        pass
    return total


def stop_tree(process: psutil.Process) -> None:
    for member in [*process.children(recursive=True), process]:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
