"""How a fetch is watched and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoppedError

Progress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes there will be."""


@dataclass(frozen=True)
class Watch:
    """Whom to tell how far a fetch is, and the event that ends it."""

    total: int
    progress: Progress | None = None
    stop: threading.Event | None = None

    def report(self, done: int) -> None:
        """Tell the progress, never more than the total. Raises StoppedError once the stop is asked for."""
        if self.stop is not None and self.stop.is_set():
            raise StoppedError("the fetch was stopped; the next one goes on from here")
        if self.progress is not None:
            self.progress(min(done, self.total), self.total)


def bytes_in(folder: Path) -> int:
    """The size of everything in a folder, while somebody else writes it; 0 where there's none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            # renamed or deleted between the listing and the look
            continue
    return total
