"""Bytes to text: which encoding is it? Never raises; what it had to guess or replace is in the warnings.

Order: byte order mark; UTF-16 or UTF-32 by their zero bytes; strict UTF-8; the encoding that the file declares;
Chinese, Japanese and Korean; UTF-8 with a few foreign bytes; other alphabets; Windows-1252, where all short Western
text ends.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from core.text.alphabet_encoding import guess_alphabet
from core.text.cjk_encoding import guess_cjk

BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers take these names for: https://encoding.spec.whatwg.org/#names-and-labels
_ALIASES = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
}
SAMPLE_BYTES = 64 * 1024
HEAD_BYTES = 4096
_CONTEXT_BYTES = 64
_HIGH = re.compile(rb"[\x80-\xff]")
_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}",
)


class Decoded(NamedTuple):
    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """The text of `data`, not cleaned, its encoding, and sentences for people.

    `decode(b"Gr\\xf6\\xdfe")` gives ("Größe", "cp1252", ()). `declared` is what the file says of itself, if it does.
    """
    for bom, encoding in BOMS:
        if data.startswith(bom) and not (encoding.startswith("utf-32") and len(data) % 4):
            return _replacing(data[len(bom) :], encoding)
    if encoding := by_zero_bytes(data):
        return _replacing(data, encoding)
    try:
        text = data.decode("utf-8")
        # ISO-2022-JP is plain ASCII to the eye of UTF-8.
        if b"\x1b$" not in data:
            return Decoded(text, "utf-8")
    except UnicodeDecodeError:
        pass
    return _legacy(data, declared)


def _legacy(data: bytes, declared: str | None) -> Decoded:
    if b"\x1b$" in data and _decodes(data, "iso2022_jp"):
        return Decoded(data.decode("iso2022_jp"), "iso2022_jp")
    if (encoding := _known(declared)) and encoding != "utf-8" and _decodes(data, encoding):
        return Decoded(data.decode(encoding), encoding)
    return _replacing(data, guess(sample_of(data), data[:HEAD_BYTES], len(data)))


def guess(sample: bytes, head: bytes, size: int) -> str:
    """For bytes that are no UTF-8. sample: `sample_of` them; head: the first HEAD_BYTES of them; size: of all."""
    encoding = guess_cjk(sample)
    if not encoding and _is_mostly_utf8(sample):
        encoding = "utf-8"
    return encoding or _utf16_without_mark(head, size) or guess_alphabet(sample) or "cp1252"


def _replacing(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
    return Decoded(text, encoding, (replaced(text.count("\ufffd"), encoding),))


def replaced(count: int, encoding: str) -> str:
    """The warning for bytes that mean nothing in this encoding."""
    places = "1 place that is" if count == 1 else f"{count} places that are"
    return f"holds {places} not valid {encoding}; shown as \ufffd"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeError:
        return False
    return True


def _known(label: str | None) -> str | None:
    """Python's name for an encoding label; None for an unknown one and for codecs that aren't text encodings."""
    if not label:
        return None
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
        "a".encode(name)
    except (LookupError, ValueError):
        return None
    return _ALIASES.get(name, name)


def by_zero_bytes(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, for text that holds ASCII: the zero bytes all stand on one side."""
    head = data[:HEAD_BYTES]
    head = head[: len(head) // 4 * 4]
    # One zero byte is a stray NUL; "ab\0cd" isn't UTF-16.
    if head.count(0) < 2:
        return None
    zeros = [head[place::4].count(0) / (len(head) // 4) for place in range(4)]
    if min(zeros[1:]) > 0.9 and zeros[0] < 0.1:
        return "utf-32-le"
    if min(zeros[:3]) > 0.9 and zeros[3] < 0.1:
        return "utf-32-be"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.05 else None


def sample_of(data: bytes) -> bytes:
    """The lines that hold bytes above 127, up to 64 KiB: the first such byte may come after a megabyte of ASCII.

    What stands more than a few bytes before the first of them in a line is left out.
    """
    pieces, size, at = [], 0, 0
    while size < SAMPLE_BYTES and (match := _HIGH.search(data, at)):
        start = max(data.rfind(b"\n", at, match.start()) + 1, match.start() - _CONTEXT_BYTES, at)
        end = data.find(b"\n", match.start(), match.start() + SAMPLE_BYTES)
        at = end + 1 if end >= 0 else match.start() + SAMPLE_BYTES
        pieces.append(data[start:at])
        size += at - start
        if end < 0:
            break  # one endless line: a second piece might begin inside a character
    return b"".join(pieces)


def _is_mostly_utf8(sample: bytes) -> bool:
    """At least as many valid UTF-8 sequences as bytes that fit none: one file put together from two encodings."""
    sequences = _UTF8_SEQUENCE.findall(sample)
    high = sum(byte > 127 for byte in sample)
    wrong = high - sum(map(len, sequences))
    return bool(sequences) and len(sequences) >= wrong


def _utf16_without_mark(head: bytes, size: int) -> str | None:
    """UTF-16 whose characters are nearly all Chinese, Japanese or Korean, so that it has few zero bytes."""
    pairs = list(zip(head[::2], head[1::2], strict=False))
    # Two ASCII letters make a Chinese character, too.
    ascii_pairs = sum(0x20 <= a < 0x7F and 0x20 <= b < 0x7F for a, b in pairs)
    if size % 2 or len(pairs) < 8 or ascii_pairs > 0.5 * len(pairs):
        return None
    for encoding in ("utf-16-le", "utf-16-be"):
        text = head.decode(encoding, errors="replace")
        common = sum(char < "\x7f" or "\u3000" <= char <= "\u30ff" or "\uac00" <= char <= "\ud7a3" for char in text)
        han = sum("\u4e00" <= char <= "\u9fff" for char in text)
        if (common + han) / len(text) > 0.97 and common / len(text) > 0.05:
            return encoding
    return None
