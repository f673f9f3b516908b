"""Single-byte encodings of Cyrillic, Greek, Hebrew, Arabic and Thai, told apart by their frequent letters."""

from __future__ import annotations

import itertools
import re

_WORD = re.compile(rb"[A-Za-z\x80-\xff]+")
_TAG = re.compile(rb"<[^<>]*>")
# The letters that make up about three quarters of ordinary text; Russian, Bulgarian and Ukrainian share theirs.
_FREQUENT = {
    "cp1251": "оеаинтсрвлкмі",
    "koi8_r": "оеаинтсрвлкм",
    "cp1253": "αοιετσνρκυηάίό",
    "cp1255": "יוהלארתבמשנ",
    "cp1256": "اليمونترةبعأه",
    "cp874": "านรอกเงมยลวดทสตะปบคห่้ัีิ",
}
_MIN_SCORE = 0.45
_MIN_WHOLE_WORDS = 0.6


def guess_alphabet(sample: bytes) -> str | None:
    """The best encoding for `sample`, or None where it looks Western: there, high bytes stand among ASCII letters."""
    sample = _TAG.sub(b" ", sample)
    words = [word for word in _WORD.findall(sample) if not word.isascii()]
    whole = [word for word in words if len(word) > 1 and min(word) > 127]
    if not words or len(whole) / len(words) < _MIN_WHOLE_WORDS:
        return None
    scores = {encoding: _score(whole, encoding) for encoding in _FREQUENT}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] >= _MIN_SCORE else None


def _score(words: list[bytes], encoding: str) -> float:
    """Share of frequent letters, less what no real word has: a capital after a small letter, a sign inside."""
    frequent, good, bad, total = set(_FREQUENT[encoding]), 0, 0, 0
    for raw in words:
        word = raw.decode(encoding, errors="replace").strip("«»„“”‘’…–—\xa0")
        total += len(word)
        good += sum(char in frequent for char in word.lower())
        bad += sum(not (char.isalpha() or _is_thai_mark(char)) for char in word)
        bad += sum(a.islower() and b.isupper() for a, b in itertools.pairwise(word))
    # The same bytes in the wrong alphabet often come out in capitals only.
    shouted = bytes.join(b"", words).decode(encoding, errors="replace").isupper()
    return (good - 2 * bad) / total - 0.25 * shouted if total else 0.0


def _is_thai_mark(char: str) -> bool:
    return "\u0e31" <= char <= "\u0e4e"
