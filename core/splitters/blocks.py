"""What a document's marks say about cutting: sections, tables, rows, code, sheets, slides become units of their own."""

from __future__ import annotations

from collections.abc import Iterator

from core.domain import Document, Mark
from core.splitters.units import (
    BLOCK,
    HARD,
    HEADING,
    LINE,
    PARAGRAPH,
    WORD,
    Level,
    Unit,
    lines,
    paragraphs,
    words,
)

_STRENGTHS = {"rows": LINE, "heading": HEADING, "slide": HEADING, "sheet": HARD, "part": HARD}
_KEPT_WHOLE = {
    "table": (Level(lines, LINE), Level(words, WORD)),
    "code": (Level(paragraphs, PARAGRAPH), Level(lines, LINE), Level(words, WORD)),
}


def block_units(document: Document, levels: tuple[Level, ...]) -> Iterator[Unit]:
    """The document's blocks in order, covering its text. Tables and code are whole, cut by rows or lines if they must
    be; everything else is cut by `levels`."""
    length = len(document.text)
    marks = [mark for mark in document.marks if 0 <= mark.start < min(mark.end, length)]
    whole = _whole_blocks(marks)
    strengths = _cut_strengths(marks, whole, length)
    places = sorted(strengths)
    kinds = {mark.start: mark.kind for mark in whole}
    for start, end in zip(places, [*places[1:], length], strict=True):
        yield Unit(start, end, strengths[start], _KEPT_WHOLE.get(kinds.get(start, ""), levels))


def _whole_blocks(marks: list[Mark]) -> list[Mark]:
    """Tables and code, the outer one where they lie in each other."""
    whole: list[Mark] = []
    for mark in sorted((mark for mark in marks if mark.kind in _KEPT_WHOLE), key=lambda mark: (mark.start, -mark.end)):
        if not whole or mark.start >= whole[-1].end:
            whole.append(mark)
    return whole


def _cut_strengths(marks: list[Mark], whole: list[Mark], length: int) -> dict[int, int]:
    strengths = {0: 0}
    for mark in marks:
        if mark.kind in _STRENGTHS:
            strengths[mark.start] = max(strengths.get(mark.start, 0), _STRENGTHS[mark.kind])
    inside = _inside(sorted(strengths), whole)
    for place in inside:
        if strengths[place] < HARD:
            del strengths[place]
    for mark in whole:
        strengths[mark.start] = max(strengths.get(mark.start, 0), BLOCK)
        if mark.end < length:
            strengths[mark.end] = max(strengths.get(mark.end, 0), BLOCK)
    return strengths


def _inside(places: list[int], whole: list[Mark]) -> list[int]:
    """The places that lie inside a block that is kept whole; both lists are in order."""
    found, blocks = [], iter(whole)
    block = next(blocks, None)
    for place in places:
        while block and block.end <= place:
            block = next(blocks, None)
        if block and block.start < place:
            found.append(place)
    return found
