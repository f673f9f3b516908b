"""A thing that is made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazily(Generic[T]):
    """`lazily()` gives the thing, made at the first call; what fails is tried again at the next. Thread-safe."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Closes the thing, if it was made and can be closed."""
        with self._lock:
            if self._made is not None and hasattr(self._made, "close"):
                self._made.close()
