"""Between the thread that reads files and the one that embeds them: a queue bounded by segments, not by files."""

from __future__ import annotations

import threading
from collections import deque

from core.services.prepared import Prepared


class Handover:
    """most_segments  what may wait; a larger file waits alone"""

    def __init__(self, most_segments: int = 256) -> None:
        self._most = most_segments
        self._changed = threading.Condition()
        self._waiting: deque[Prepared] = deque()
        self._closed = False

    def put(self, item: Prepared) -> bool:
        """Waits for room. False: it was closed and the item isn't taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._waiting or self._size(item) <= self._most)
            if self._closed:
                return False
            self._waiting.append(item)
            self._changed.notify_all()
            return True

    def take(self, most_segments: int) -> list[Prepared]:
        """At least one file, and those that follow as long as all have at most `most_segments`. [] when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return []
            taken = [self._waiting.popleft()]
            size = len(taken[0].segments)
            while self._waiting and (size := size + len(self._waiting[0].segments)) <= most_segments:
                taken.append(self._waiting.popleft())
            self._changed.notify_all()
            return taken

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _size(self, item: Prepared) -> int:
        return len(item.segments) + sum(len(waiting.segments) for waiting in self._waiting)
