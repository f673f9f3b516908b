"""The units that text is cut into, from coarse to fine: paragraphs, lines, sentences, words.

Each function yields (start, end) spans of `text[start:end]` in order. The spans hold every character that isn't blank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from core.text.sentences import FINAL_MARKS, is_wrapped_line, sentence_spans

Spans = Iterator[tuple[int, int]]
UnitFunction = Callable[[str, int, int], Spans]

# How good a place to cut is. Segments end at the best one that is near enough to the limit.
CHARACTER, WORD, SENTENCE, LINE, PARAGRAPH, BLOCK, HEADING, HARD = range(8)

_NEWLINE = r"(?:\r\n|\r|\n)"
_LINE_END = re.compile(_NEWLINE)
_PARAGRAPH_END = re.compile(rf"{_NEWLINE}(?:[ \t]*{_NEWLINE})+")
_MARKS = re.escape("".join(sorted(FINAL_MARKS)))
# A word keeps a mark that stands alone after it ("wait !"); Chinese and Japanese are cut after commas.
_WORD = re.compile(rf"(?:[^\s、，；：]+[、，；：]*|[、，；：]+)(?:\s+[{_MARKS}]+(?!\S))*")
_NOT_FIRST = FINAL_MARKS | frozenset("」』）】》”’、，；：\u200d")
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_FLAGS = ("\U0001f1e6", "\U0001f1ff")


class Level(NamedTuple):
    """One way to cut, and how good the places between its units are."""

    spans: UnitFunction
    strength: int


class Unit(NamedTuple):
    """A stretch of text, how good a place to cut lies before it, and the levels that can cut it further."""

    start: int
    end: int
    strength: int
    finer: tuple[Level, ...] = ()


def paragraphs(text: str, start: int, end: int) -> Spans:
    return _between(_PARAGRAPH_END, text, start, end)


def lines(text: str, start: int, end: int) -> Spans:
    return _between(_LINE_END, text, start, end)


def unwrapped_lines(text: str, start: int, end: int) -> Spans:
    """Lines, but a sentence that merely runs on in the next line (PDF, plain-text mail) isn't cut there."""
    begin = start
    for match in _LINE_END.finditer(text, start, end):
        if not is_wrapped_line(text, match.start(), match.end()):
            yield begin, match.start()
            begin = match.end()
    yield begin, end


def sentences(text: str, start: int, end: int) -> Spans:
    for sentence_start, sentence_end in sentence_spans(text[start:end]):
        yield start + sentence_start, start + sentence_end


def words(text: str, start: int, end: int) -> Spans:
    return (match.span() for match in _WORD.finditer(text, start, end))


def pieces(text: str, unit: Unit) -> Iterator[Unit]:
    """The unit cut at its next finer level; the first piece keeps the place before the unit."""
    level, *finer = unit.finer
    strength = unit.strength
    for start, end in level.spans(text, unit.start, unit.end):
        yield Unit(start, end, strength, tuple(finer))
        strength = level.strength


def cut_before(text: str, position: int, lowest: int) -> int:
    """The nearest place at or before `position`, above `lowest`, that tears no accent, emoji or flag apart and leaves
    no closing mark at the start of what follows; `lowest` where there is none close by."""
    for place in range(position, max(lowest, position - 32), -1):
        if is_cut(text, place):
            return place
    return lowest


def is_cut(text: str, place: int) -> bool:
    if place >= len(text):
        return True
    before = text[place - 1] if place else ""
    # The blank at the cut is left out, so what stands after it would come first.
    after = text[place + 1] if text[place] == " " and place + 1 < len(text) else text[place]
    if after in _NOT_FIRST or before == "\u200d" or _SKIN_TONES[0] <= after <= _SKIN_TONES[1]:
        return False
    if after > "\u02ff" and unicodedata.category(after)[0] == "M":
        return False
    return not (_is_flag(after) and _is_flag(before) and _flags_before(text, place) % 2)


def _is_flag(character: str) -> bool:
    return _FLAGS[0] <= character <= _FLAGS[1]


def _flags_before(text: str, place: int) -> int:
    start = place
    while start and _is_flag(text[start - 1]) and place - start < 64:
        start -= 1
    return place - start


def _between(separator: re.Pattern[str], text: str, start: int, end: int) -> Spans:
    begin = start
    for match in separator.finditer(text, start, end):
        yield begin, match.start()
        begin = match.end()
    yield begin, end
