"""Long lists in pieces: SQLite takes a limited number of parameters in one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """`batched("abc", 2)` gives ["a", "b"], ["c"]; nothing gives nothing."""
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece
