"""Where a slice lies, from the document's marks to the segment's metadata: page, heading path, sheet, rows, slide."""

from __future__ import annotations

import re
from bisect import bisect_right

from core.domain import Document, Mark

_KEYS = {"page": "page", "heading": "heading_path", "sheet": "sheet", "slide": "slide", "rows": "rows"}
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")


class Positions:
    """Looks marks up by place. One per document; each look-up is a binary search."""

    def __init__(self, document: Document) -> None:
        self._marks = {
            kind: sorted((mark for mark in document.marks if mark.kind == kind), key=lambda mark: mark.start)
            for kind in _KEYS
        }
        self._starts = {kind: [mark.start for mark in marks] for kind, marks in self._marks.items()}

    def of(self, start: int, end: int) -> dict[str, str | int]:
        """Metadata of text[start:end]: where it begins; `page_end` if it ends on another page; all of its `rows`."""
        found: dict[str, str | int] = {}
        for kind, key in _KEYS.items():
            first, last = self._first(kind, start, end), self._last(kind, start, end)
            if first is None or last is None or first.value == "":
                continue
            found[key] = _joined_rows(first.value, last.value) if kind == "rows" else first.value
            if kind == "page" and last.value != first.value:
                found["page_end"] = last.value
        return found

    def _first(self, kind: str, start: int, end: int) -> Mark | None:
        marks = self._marks[kind]
        index = max(0, bisect_right(self._starts[kind], start) - 1)
        for mark in marks[index : index + 2]:
            if mark.end > start and mark.start < end:
                return mark
        return None

    def _last(self, kind: str, start: int, end: int) -> Mark | None:
        index = bisect_right(self._starts[kind], end - 1) - 1
        mark = self._marks[kind][index] if index >= 0 else None
        return mark if mark and mark.end > start else None


def _joined_rows(first: str | int, last: str | int) -> str | int:
    """ "2-9" and "10-17" make "2-17"."""
    if first == last:
        return first
    begin, end = _RANGE.match(str(first)), _RANGE.match(str(last))
    if not begin or not end:
        return first
    return f"{begin.group(1)}-{end.group(2) or end.group(1)}"
