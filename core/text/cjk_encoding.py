"""Chinese, Japanese and Korean multi-byte encodings, told apart by how common the decoded characters are.

Each of their character sets has its common characters in the first rows, so the codec itself is the frequency table.
No language model, no word lists; works from about four characters on.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable

_MIN_SCORE = 0.65
_MIN_NEIGHBOURS = 0.6


def guess_cjk(sample: bytes) -> str | None:
    """The best of cp932, euc_jp, gb18030, big5hkscs and cp949 for `sample`, or None if none is credible.

    Western text with single accented letters never is: a real CJK character has another one beside it.
    """
    best, best_score = None, _MIN_SCORE
    for encoding, weigh in _WEIGHTS.items():
        try:
            # Incremental: the sample may end inside a character.
            text = codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        score = _score(text, weigh)
        if score > best_score:
            best, best_score = encoding, score
    return best


def _score(text: str, weigh: Callable[[str], float]) -> float:
    wide = [char > "\x7f" for char in text]
    count = sum(wide)
    if count < 2:
        return 0.0
    beside = sum(
        is_wide and (wide[index - 1] if index else False or (wide[index + 1] if index + 1 < len(wide) else False))
        for index, is_wide in enumerate(wide)
    )
    if beside / count < _MIN_NEIGHBOURS:
        return 0.0
    return sum(weigh(char) for char in text if char > "\x7f") / count


def _is_punctuation(char: str) -> bool:
    return "\u3000" <= char <= "\u303f" or "\uff01" <= char <= "\uff60" or char in "·—…‘’“”"


def _lead(char: str, encoding: str) -> int:
    try:
        encoded = char.encode(encoding)
    except UnicodeEncodeError:
        return 0
    return encoded[0] if len(encoded) == 2 else 0


def _japanese(char: str) -> float:
    if "\u3040" <= char <= "\u30ff" or _is_punctuation(char):
        return 1.0
    if 0xB0 <= _lead(char, "euc_jp") <= 0xCF:
        return 0.75
    return 0.5 if "\u4e00" <= char <= "\u9fff" else -1.0


def _chinese(encoding: str, first: int, last: int) -> Callable[[str], float]:
    def weigh(char: str) -> float:
        if _is_punctuation(char):
            return 1.0
        if first <= _lead(char, encoding) <= last:
            return 0.9
        return 0.2 if "\u4e00" <= char <= "\u9fff" else -1.0

    return weigh


def _korean(char: str) -> float:
    if 0xB0 <= _lead(char, "euc_kr") <= 0xC8 or _is_punctuation(char):
        return 1.0
    if "\uac00" <= char <= "\ud7a3":
        return 0.5
    return 0.2 if "\u4e00" <= char <= "\u9fff" else -1.0


_WEIGHTS: dict[str, Callable[[str], float]] = {
    "cp932": _japanese,
    "euc_jp": _japanese,
    "gb18030": _chinese("gb2312", 0xB0, 0xD7),
    "big5hkscs": _chinese("big5", 0xA4, 0xC6),
    "cp949": _korean,
}
