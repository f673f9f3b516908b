"""Packing: as many units as fit go into a segment, what is too large is cut finer, the best place by the limit ends it.

    limit 12, "aaa bbb.\n\nccc ddd. eee" by paragraphs, then sentences:  ["aaa bbb.", "ccc ddd. eee"]

Every unit is looked at a bounded number of times, so time is linear in the length of the text. Sizes are those of a
`Measure`; this file knows no tokenizer and no document.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.splitters.units import CHARACTER, HARD, HEADING, SENTENCE, WORD, Unit, cut_before, is_cut, pieces, words
from core.text.measure import Measure
from core.text.sentences import sentence_spans

# A segment ends at the best place in its second half. A new section begins a new segment unless this one is tiny.
_BEST_PLACE_FROM = 1 / 2
_NEW_SECTION_FROM = 1 / 4


def pack(text: str, units: Iterator[Unit], measure: Measure, *, limit: int, overlap: int) -> list[tuple[int, int]]:
    """Spans of segments, in order, blanks at their ends left out, each at most `limit` long by `measure`.

    overlap  most that a segment repeats of the one before: whole sentences, or words or characters where the cut
             itself lies inside a sentence or a word; nothing across a new section
    """
    packer = _Packer(text, measure, limit, overlap)
    stack = [units]
    while stack:
        unit = next(stack[-1], None)
        if unit is None:
            stack.pop()
            continue
        unit = _stripped(text, unit)
        if unit.start == unit.end:
            packer.note_place(unit.strength)
        elif measure.size(unit.start, unit.end) <= limit:
            packer.add(unit)
        elif unit.finer:
            stack.append(pieces(text, unit))
        else:
            packer.add_in_pieces(unit)
    packer.end()
    return packer.spans


class _Packer:
    """The segment that grows (`start` and the units it holds) and the spans that are done."""

    def __init__(self, text: str, measure: Measure, limit: int, overlap: int) -> None:
        self.text, self.measure, self.limit, self.overlap = text, measure, limit, overlap
        self.start = 0
        self.held: list[Unit] = []
        self.spans: list[tuple[int, int]] = []
        self.last_cut = HARD  # how good the place was where the last segment ended
        self.noted = 0

    def note_place(self, strength: int) -> None:
        """A blank unit is dropped, but the place before it counts for the next."""
        self.noted = max(self.noted, strength)

    def add(self, unit: Unit) -> None:
        if self.noted > unit.strength:
            unit = unit._replace(strength=self.noted)
        self.noted = 0
        if self.held and self._begins_new(unit):
            self._cut(len(self.held), unit)
        while self.held and self.measure.size(self.start, unit.end) > self.limit:
            self._cut(self._best_place(unit), unit)
        if not self.held:
            self.start = self._start_with_overlap(unit.start, unit.end)
        self.held.append(unit)

    def add_in_pieces(self, unit: Unit) -> None:
        """A unit that no level can cut: as much as fits, again and again."""
        start, strength = unit.start, unit.strength
        while start < unit.end:
            anchor = self.start if self.held else self._start_with_overlap(start, start + 1)
            reach = self.measure.reach(anchor, self.limit)
            end = unit.end if reach >= unit.end else cut_before(self.text, reach, start)
            if self.held and (end <= start or (strength > CHARACTER and self._is_half_full())):
                self._cut(len(self.held), Unit(start, start, strength))
                continue
            if end <= start:
                end = max(reach, start + 1)
            piece = _stripped(self.text, Unit(start, end, strength))
            start, strength = end, CHARACTER
            if piece.start < piece.end:
                self.add(piece)

    def end(self) -> None:
        if self.held:
            self.spans.append((self.start, self.held[-1].end))

    def _is_half_full(self) -> bool:
        return self.measure.size(self.start, self.held[-1].end) >= self.limit * _BEST_PLACE_FROM

    def _begins_new(self, unit: Unit) -> bool:
        size = self.measure.size(self.start, self.held[-1].end)
        return unit.strength == HARD or (unit.strength == HEADING and size >= self.limit * _NEW_SECTION_FROM)

    def _best_place(self, unit: Unit) -> int:
        """How many of the held units make the segment that ends now."""
        best, best_strength = len(self.held), unit.strength
        for count in range(len(self.held) - 1, 0, -1):
            if self.measure.size(self.start, self.held[count - 1].end) < self.limit * _BEST_PLACE_FROM:
                break
            if self.held[count].strength > best_strength:
                best, best_strength = count, self.held[count].strength
        return best

    def _cut(self, count: int, following: Unit) -> None:
        self.spans.append((self.start, self.held[count - 1].end))
        rest = self.held[count:]
        self.last_cut = rest[0].strength if rest else following.strength
        self.held = rest
        if rest:
            self.start = self._start_with_overlap(rest[0].start, rest[-1].end)

    def _start_with_overlap(self, start: int, must_reach: int) -> int:
        """Where a segment begins whose own first unit begins at `start` and that must hold all up to `must_reach`."""
        if not self.overlap or not self.spans or self.last_cut >= HEADING:
            return start
        before_start, before_end = self.spans[-1]
        lowest = max(before_start + 1, self.measure.reach_back(before_end, self.overlap))
        for place in self._overlap_places(lowest, before_start, before_end):
            if lowest <= place < before_end and self.measure.size(place, must_reach) <= self.limit:
                return place
        return start

    def _overlap_places(self, lowest: int, before_start: int, before_end: int) -> Iterator[int]:
        if self.last_cut >= SENTENCE:
            # A few characters more, so that a sentence that begins exactly at `lowest` is seen to begin there.
            begin = max(before_start, lowest - 16)
            spans = sentence_spans(self.text[begin:before_end])
            return (begin + start for start, _ in spans[1:])
        if self.last_cut == WORD:
            begin = max(before_start, lowest - 1)
            return (start for start, _ in words(self.text, begin, before_end) if start > begin)
        return (
            place for place in range(lowest, before_end) if is_cut(self.text, place) and not self.text[place].isspace()
        )


def _stripped(text: str, unit: Unit) -> Unit:
    start, end = unit.start, unit.end
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return unit._replace(start=start, end=end)
