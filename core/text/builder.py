"""TextBuilder: puts cleaned pieces together and takes the offsets of marks from what is really there."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.domain import Document, Mark, MarkKind
from core.metadata import Metadata
from core.text.clean import clean


class TextBuilder:
    """`document.text` is clean as a whole, at the joins too, and each mark is a slice of it.

    builder.heading(1, "Guide"); builder.append("Install it.") gives "Guide\\n\\nInstall it." under heading "Guide".

    goes_on  there is text before this, which doesn't end its line: `new_line` and `new_paragraph` begin with breaks
    path     (level, title) of the headings that are open at the beginning
    """

    def __init__(self, *, goes_on: bool = False, path: Sequence[tuple[int, str]] = ()) -> None:
        self._goes_on = goes_on
        self._pieces: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._path: list[tuple[int, str]] = [(level, title) for level, title in path]
        self._heading_start: int | None = 0 if self._path else None

    @property
    def path(self) -> list[tuple[int, str]]:
        """(level, title) of the headings that are open now."""
        return list(self._path)

    def __len__(self) -> int:
        return self._length

    def append(self, text: str) -> None:
        text = clean(text)
        if not text:
            return
        if self._pieces and not text.isascii():
            text = self._merged_with_last(text)
        self._push(text)

    def new_line(self) -> None:
        """End the line, unless the text is empty or stands at the start of one."""
        if not self._pieces[-1].endswith("\n") if self._pieces else self._goes_on:
            self._push("\n")

    def new_paragraph(self) -> None:
        """Leave one blank line, unless the text is empty or has it."""
        self.new_line()
        if self._pieces and not "".join(self._pieces[-2:]).endswith("\n\n"):
            self._push("\n")

    def paragraph(self, text: str) -> None:
        """A paragraph of its own; nothing for a blank text."""
        if text.strip():
            self.new_paragraph()
            self.append(text.strip())

    @contextmanager
    def mark(self, kind: MarkKind, value: str | int) -> Iterator[None]:
        """Mark what is appended inside the block; no mark where that is nothing."""
        start = self._length
        yield
        self.add_mark(start, self._length, kind, value)

    def add_mark(self, start: int, end: int, kind: MarkKind, value: str | int) -> None:
        if end > start:
            self._marks.append(Mark(start, end, kind, clean(value) if isinstance(value, str) else value))

    def heading(self, level: int, title: str, *, line: str | None = None) -> None:
        """Begin a section: `line` (default: the title) is its first line; deeper levels go under it in the path."""
        title = " ".join(clean(title).split())
        if not title:
            return
        self.new_paragraph()
        self.begin_section(level, title)
        self.append(line if line is not None else title)
        self.new_paragraph()

    def begin_section(self, level: int, title: str) -> None:
        """Like `heading`, without writing a line."""
        self._end_section()
        self._path = [entry for entry in self._path if entry[0] < level] + [(level, title)]
        self._heading_start = self._length

    def build(self, metadata: Metadata | None = None, *, keep_end: bool = False) -> Document:
        """keep_end  blanks at the end stay: more text follows them"""
        self._end_section()
        text = "".join(self._pieces)
        kept = len(text) if keep_end else len(text.rstrip())
        marks = [
            Mark(mark.start, min(mark.end, kept), mark.kind, mark.value) for mark in self._marks if mark.start < kept
        ]
        marks.sort(key=lambda mark: (mark.start, mark.end))
        return Document(text[:kept], metadata if metadata is not None else Metadata(), tuple(marks))

    def _end_section(self) -> None:
        if self._heading_start is not None:
            self.add_mark(self._heading_start, self._length, "heading", " > ".join(title for _, title in self._path))
        self._heading_start = None

    def _push(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _merged_with_last(self, text: str) -> str:
        """An accent that opens a piece goes onto the letter that ended the one before."""
        last = self._pieces[-1]
        start = len(last) - 1
        while start > 0 and unicodedata.combining(last[start]):
            start -= 1
        if unicodedata.is_normalized("NFC", last[start:] + text[:8]):
            return text
        self._pieces[-1] = last[:start]
        self._length -= len(last) - start
        return clean(last[start:] + text)
