"""The encoding of a file too large for the memory: what `core.text.encoding.decode` finds, read in blocks."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from core.text.encoding import BOMS, HEAD_BYTES, by_zero_bytes, guess, sample_of

_BLOCK_BYTES = 1 << 20
# Where the first byte above 127 stands, so much of the file is looked at.
_WINDOW_BYTES = 4 << 20
_HIGH = re.compile(rb"[\x80-\xff]")


class FileEncoding(NamedTuple):
    """name: Python's. start: bytes of the byte order mark. is_strict: every byte of the file is valid in it."""

    name: str
    start: int = 0
    is_strict: bool = True

    @property
    def width(self) -> int:
        """Bytes of a line end."""
        return 4 if self.name.startswith("utf-32") else 2 if self.name.startswith("utf-16") else 1


def find_encoding(file: BinaryIO, size: int) -> FileEncoding:
    """Reads the whole file once or twice, a megabyte at a time. size: bytes of the file."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    for mark, name in BOMS:
        if head.startswith(mark) and not (name.startswith("utf-32") and size % 4):
            return FileEncoding(name, len(mark), _decodes(file, name, len(mark)))
    if name := by_zero_bytes(head):
        return FileEncoding(name, 0, _decodes(file, name))
    is_japanese = _holds(file, b"\x1b$")
    if not is_japanese and _decodes(file, "utf-8"):
        return FileEncoding("utf-8")
    if is_japanese and _decodes(file, "iso2022_jp"):
        return FileEncoding("iso2022_jp")
    name = guess(_sample(file), head, size)
    return FileEncoding(name, 0, _decodes(file, name))


def _blocks(file: BinaryIO, start: int = 0) -> Iterator[bytes]:
    file.seek(start)
    while block := file.read(_BLOCK_BYTES):
        yield block


def _decodes(file: BinaryIO, encoding: str, start: int = 0) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in _blocks(file, start):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _holds(file: BinaryIO, sign: bytes) -> bool:
    before = b""
    for block in _blocks(file):
        if sign in before + block:
            return True
        before = block[1 - len(sign) :]
    return False


def _sample(file: BinaryIO) -> bytes:
    at = 0
    for block in _blocks(file):
        if _HIGH.search(block):
            file.seek(max(0, at - HEAD_BYTES))
            return sample_of(file.read(_WINDOW_BYTES))
        at += len(block)
    return b""
