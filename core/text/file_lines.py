"""Text of a file too large for the memory: stretches of it, or its lines, from any place that was named before.

Each stretch is decoded and cleaned by itself. Together they are the text that the whole file would give, but for an
accent that stands alone at the beginning of a stretch.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from core.text.clean import clean
from core.text.encoding import replaced
from core.text.file_encoding import FileEncoding

_LINES_BYTES = 1 << 18
_LONGEST_LINE_CHARS = 16 << 20


class FileText:
    """A file open for reading bytes, and its encoding. `replaced`: places that were not valid in it, so far."""

    def __init__(self, file: BinaryIO, encoding: FileEncoding, size: int, replaced: int = 0) -> None:
        self._file, self.encoding, self.size, self.replaced = file, encoding, size, replaced

    @property
    def warnings(self) -> list[str]:
        return [replaced(self.replaced, self.encoding.name)] if self.replaced else []

    def stretch(self, start: int, most_bytes: int) -> tuple[str, int]:
        """Cleaned text from byte `start` on, at most so many bytes of it, and the byte at which the next one begins.

        It ends at a blank line, or a line end, or a blank, where there is one in its second half.
        """
        width = self.encoding.width
        self._file.seek(start)
        block = self._file.read(most_bytes // width * width)
        if start + len(block) < self.size:
            block = block[: _cut(block, self.encoding)]
        text = block.decode(self.encoding.name, "strict" if self.encoding.is_strict else "replace")
        if not self.encoding.is_strict:
            self.replaced += text.count("\ufffd")
        return clean(text), start + len(block)


class FileLines:
    """Iterates over lines, "\\n" included. `position`: plain numbers; lines from there are those not yet given.

    start  a position of an earlier run; None: the beginning
    """

    def __init__(self, text: FileText, start: list[int] | None = None) -> None:
        self._text = text
        self.position = list(start) if start else [text.encoding.start, 0]

    def __iter__(self) -> Iterator[str]:
        begun = ""
        at, skip = self.position
        while at < self._text.size:
            stretch, following = self._text.stretch(at, _LINES_BYTES)
            pieces = stretch.split("\n")
            last = pieces.pop()
            for number, piece in enumerate(pieces[skip:], start=skip + 1):
                self.position = [at, number]
                yield f"{begun}{piece}\n"
                begun = ""
            begun += last
            if len(begun) > _LONGEST_LINE_CHARS:
                self.position = [following, 0]
                yield begun
                begun = ""
            at, skip = following, 0
        if begun:
            self.position = [self._text.size, 0]
            yield begun


def _cut(block: bytes, encoding: FileEncoding) -> int:
    half = len(block) // 2
    for mark, lowest in (
        ("\n\n", half + half // 2),
        ("\n\r\n", half + half // 2),
        ("\n", half),
        ("\r", half),
        (" ", half),
    ):
        sign = mark.encode(encoding.name)
        # Not at the very end: a carriage return there may be half a line end.
        end = len(block) - encoding.width if mark == "\r" else len(block)
        found = block.rfind(sign, lowest, end)
        while found >= 0 and found % encoding.width:
            found = block.rfind(sign, lowest, found + len(sign) - 1)
        if found >= 0:
            return found + len(sign)
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    torn = "\r" if decoder.decode(block).endswith("\r") else ""
    return max(encoding.width, len(block) - len(decoder.getstate()[0]) - len(torn.encode(encoding.name)))
