"""Numbers of lists and headings: they aren't in the text but counted from numbering.xml."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.parsers.docx.names import W, value

_LEVELS = 9


class _Level(NamedTuple):
    format: str
    text: str
    start: int


class Numbering:
    """`label(("3", 1))` counts one up in level 1 of list 3 and gives "1.2" or "-"; "" for a level without a sign."""

    def __init__(self, root) -> None:
        self._levels: dict[str, list[_Level]] = {}
        self._abstract: dict[str, str] = {}
        self._counts: dict[str, list[int | None]] = {}
        if root is None:
            return
        abstract = {item.get(f"{W}abstractNumId", ""): item for item in root.iter(f"{W}abstractNum")}
        for number in root.iter(f"{W}num"):
            number_id, base = number.get(f"{W}numId", ""), value(number, "abstractNumId") or ""
            if base in abstract:
                overrides = {item.get(f"{W}ilvl"): item for item in number.iter(f"{W}lvlOverride")}
                self._levels[number_id] = [_level(abstract[base], i, overrides) for i in range(_LEVELS)]
                # Lists of one abstract definition count on together, unless they override its start.
                self._abstract[number_id] = number_id if overrides else base

    def label(self, entry: tuple[str, int]) -> str:
        number_id, depth = entry
        levels = self._levels.get(number_id)
        if levels is None or not 0 <= depth < _LEVELS:
            return ""
        counts = self._counts.setdefault(self._abstract[number_id], [None] * _LEVELS)
        level, count = levels[depth], counts[depth]
        counts[depth] = level.start if count is None else count + 1
        counts[depth + 1 :] = [None] * (_LEVELS - depth - 1)
        if level.format == "bullet":
            return "-"
        if level.format == "none":
            return ""

        def number(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            count = counts[at]
            return _written(levels[at].start if count is None else count, levels[at].format)

        return re.sub(r"%([1-9])", number, level.text).strip()


def _level(abstract, depth: int, overrides: dict) -> _Level:
    override = overrides.get(str(depth))
    own = next((item for item in abstract.iter(f"{W}lvl") if item.get(f"{W}ilvl") == str(depth)), None)
    replaced = override.find(f"{W}lvl") if override is not None else None
    element = own if replaced is None else replaced
    start = (value(override, "startOverride") if override is not None else None) or value(element, "start") or "1"
    return _Level(
        value(element, "numFmt") or "none",
        value(element, "lvlText") or "",
        int(start) if start.lstrip("-").isdecimal() else 1,
    )


def _written(count: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter") and count > 0:
        letter = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letter.upper() if style == "upperLetter" else letter
    if style in ("lowerRoman", "upperRoman") and 0 < count < 4000:
        return _roman(count) if style == "upperRoman" else _roman(count).lower()
    return f"0{count}" if style == "decimalZero" and count < 10 else str(count)


def _roman(count: int) -> str:
    out = ""
    for number, sign in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        out += sign * (count // number)
        count %= number
    return out
