"""Paragraph styles: which is a heading, and which list it belongs to, along the chain of `basedOn`."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.parsers.docx.names import W, value

_HEADING_NAME = re.compile(r"heading (\d)$", re.IGNORECASE)


class Style(NamedTuple):
    """`level`: 1 to 9 for a heading, 0 for the document's title, None else. `list`: (numId, level) or None."""

    level: int | None = None
    list: tuple[str, int] | None = None


class Styles:
    def __init__(self, root) -> None:
        self._elements = {} if root is None else {style.get(f"{W}styleId"): style for style in root.iter(f"{W}style")}
        self._resolved: dict[str | None, Style] = {}

    def __getitem__(self, style_id: str | None) -> Style:
        if style_id not in self._resolved:
            self._resolved[style_id] = self._resolve(style_id)
        return self._resolved[style_id]

    def _resolve(self, style_id: str | None) -> Style:
        level, numbered, seen = None, None, set()
        while style_id in self._elements and style_id not in seen:
            seen.add(style_id)
            element = self._elements[style_id]
            level = _level(element) if level is None else level
            numbered = list_of(element) if numbered is None else numbered
            style_id = value(element, "basedOn")
        return Style(level, numbered)


def _level(element) -> int | None:
    name = value(element, "name") or ""
    if match := _HEADING_NAME.match(name):
        return int(match.group(1))
    if name.lower() == "title":
        return 0
    return outline_level(element)


def outline_level(element) -> int | None:
    outline = value(element, "pPr/outlineLvl")
    # 9 is body text.
    return int(outline) + 1 if outline is not None and outline.isdecimal() and int(outline) < 9 else None


def list_of(element) -> tuple[str, int] | None:
    number = value(element, "pPr/numPr/numId")
    level = value(element, "pPr/numPr/ilvl") or "0"
    return (number, int(level) if level.isdecimal() else 0) if number is not None else None
