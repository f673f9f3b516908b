"""Long documents come in parts: each is read only when it's asked for, and reading can go on behind any of them.

    document -> part 0, part 1 …: their texts, one after the other, are the document's text

Parsers with a method `parts` read a part at a time from the file; what the others give is cut here.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain import Document, Mark
from core.errors import DocumentError
from core.text.file_encoding import FileEncoding, find_encoding
from core.text.file_lines import FileText
from core.text.file_names import display_name

# Embedded in a few seconds, so that a crash loses little, and a stop is heard between two of them.
PART_CHARS = 200_000
PART_PAGES = 64
_BORDERS = {"part": 5, "sheet": 5, "slide": 4, "heading": 4, "page": 4, "table": 3, "code": 3, "rows": 2}


@dataclass(frozen=True)
class DocumentPart:
    """document   text, marks (from the part's own beginning) and metadata; all parts carry the same facts of the whole
                  document, and only the last one what is known at the end: the warnings
    start         characters of the document before this part
    number        0, 1, 2 …
    after         plain JSON; with it the reading goes on behind this part
    share         of the file that was read, 0 to 1
    pages         (read so far, of the whole file), for files with pages
    """

    document: Document
    start: int = 0
    number: int = 0
    after: Mapping[str, Any] = field(default_factory=dict)
    is_last: bool = True
    share: float = 1.0
    pages: tuple[int, int] | None = None


class PartSeries:
    """Numbers the parts of one file, for a parser that makes them one by one."""

    def __init__(
        self, file_name: str, after: Mapping[str, Any] | None, *, otherwise: str = "add a file with text in it"
    ):
        self._name, self._otherwise = display_name(file_name), otherwise
        earlier = after or {"start": 0, "number": 0, "has_text": False}
        self.start, self.number, self.has_text = earlier["start"], earlier["number"], earlier["has_text"]

    def part(
        self,
        document: Document,
        state: Mapping[str, Any],
        *,
        is_last: bool,
        share: float,
        pages: tuple[int, int] | None = None,
    ) -> DocumentPart:
        """state: what the parser needs to go on. raises DocumentError at the end of a file without letter or digit"""
        self.has_text = self.has_text or any(map(str.isalnum, document.text))
        if is_last and not self.has_text:
            raise DocumentError(f"{self._name!r} holds no text; {self._otherwise}", file_name=self._name)
        start, number = self.start, self.number
        self.start, self.number = start + len(document.text), number + 1
        after = {**state, "start": self.start, "number": self.number, "has_text": self.has_text}
        return DocumentPart(document, start, number, after, is_last, share, pages)


@contextmanager
def opened_text(path: Path, after: Mapping[str, Any] | None) -> Iterator[FileText]:
    """The file's text, its encoding found out only the first time: `text_state` is in `after` from then on."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        encoding = FileEncoding(*after["encoding"]) if after else find_encoding(file, size)
        yield FileText(file, encoding, size, after["replaced"] if after else 0)


def text_state(text: FileText) -> dict[str, Any]:
    return {"encoding": list(text.encoding), "replaced": text.replaced}


def parts_of(document: Document, after: Mapping[str, Any] | None = None) -> Iterator[DocumentPart]:
    """A document that was read whole, cut where a sheet, section, paragraph or line begins. A short one is one part."""
    start, number = (after["start"], after["number"]) if after else (0, 0)
    metadata = document.metadata.copy()
    metadata.remove("warnings")
    unfinished = replace(document, metadata=metadata)
    length = len(document.text)
    places = _borders(document)
    while True:
        end = _end(document.text, places, start)
        whole = start == 0 and end == length
        part = document if whole else _slice(document if end == length else unfinished, start, end)
        state = {"start": end, "number": number + 1}
        yield DocumentPart(part, start, number, state, end == length, end / max(length, 1))
        if end == length:
            return
        start, number = end, number + 1


def _borders(document: Document) -> dict[int, int]:
    """Where a mark begins -> how good a place that is to cut."""
    places: dict[int, int] = {}
    for mark in document.marks:
        places[mark.start] = max(places.get(mark.start, 0), _BORDERS.get(mark.kind, 0))
    return dict(sorted(places.items()))


def _end(text: str, places: Mapping[int, int], start: int) -> int:
    if len(text) - start <= PART_CHARS:
        return len(text)
    lowest, highest = start + PART_CHARS // 2, start + PART_CHARS
    order = list(places)
    near = order[bisect_left(order, lowest) : bisect_left(order, highest)]
    if near:
        return max(near, key=lambda place: (places[place], place))
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, lowest, highest)
        if found >= 0:
            return found + len(mark)
    return highest


def _slice(document: Document, start: int, end: int) -> Document:
    marks = tuple(
        Mark(max(mark.start, start) - start, min(mark.end, end) - start, mark.kind, mark.value)
        for mark in document.marks
        if mark.start < end and mark.end > start
    )
    return Document(document.text[start:end], document.metadata, marks)
