"""How long a stretch of a text is, in characters or in tokens, without counting it again for every stretch.

A text is tokenised once, block by block; the size of a stretch is then two look-ups. A stretch that is tokenised alone
can differ by a few tokens from this (a word cut in two); who needs certainty counts the final slices, as
`core.splitters.fitting` does.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Protocol

from core.protocols import TokenCountEstimator

_BLOCK_CHARS = 65_536
# Word-piece tokenizers turn a word of more than 100 characters into one unknown token, and drop control characters.
# Such stretches count as one token per so many characters, else 100,000 characters could be "one token" long.
_LONGEST_TOKEN, _CHARS_PER_TOKEN = 24, 3
_LONGEST_GAP, _CHARS_PER_GAP = 64, 16


class Measure(Protocol):
    def size(self, start: int, end: int) -> int:
        """Size of text[start:end]."""
        ...

    def reach(self, start: int, size: int) -> int:
        """The largest end with size(start, end) <= size."""
        ...

    def reach_back(self, end: int, size: int) -> int:
        """The smallest start with size(start, end) <= size."""
        ...


class CharacterMeasure:
    def __init__(self, text: str) -> None:
        self.length = len(text)

    def size(self, start: int, end: int) -> int:
        return end - start

    def reach(self, start: int, size: int) -> int:
        return min(self.length, start + size)

    def reach_back(self, end: int, size: int) -> int:
        return max(0, end - size)


class TokenMeasure:
    """Sizes in tokens of `estimator`. `starts`: where each token of the text begins, in order."""

    def __init__(self, text: str, estimator: TokenCountEstimator) -> None:
        self.length = len(text)
        self.starts = array("q")
        for start, end in _blocks(text):
            self.starts.extend(start + position for position in _token_starts(text[start:end], estimator))

    def size(self, start: int, end: int) -> int:
        return bisect_left(self.starts, end) - self._first(start) if end > start else 0

    def reach(self, start: int, size: int) -> int:
        index = self._first(start) + size
        return self.starts[index] if index < len(self.starts) else self.length

    def reach_back(self, end: int, size: int) -> int:
        index = bisect_left(self.starts, end) - size
        return self.starts[index] if index > 0 else 0

    def _first(self, start: int) -> int:
        """The token that holds position `start`: it counts whole, also when `start` lies inside it."""
        index = bisect_left(self.starts, start)
        inside = index == len(self.starts) or self.starts[index] > start
        return max(0, index - 1) if inside else index


def _token_starts(block: str, estimator: TokenCountEstimator) -> list[int]:
    starts: list[int] = []
    before = 0
    for start, end in estimator.offsets(block):
        if start - before > _LONGEST_GAP:
            starts.extend(range(before, start, _CHARS_PER_GAP))
        if end - start > _LONGEST_TOKEN:
            starts.extend(range(start, end, _CHARS_PER_TOKEN))
        else:
            # Some tokenizers count the blank before a word as the word's.
            starts.append(start + 1 if end - start > 1 and block[start].isspace() else start)
        before = max(before, end)
    if len(block) - before > _LONGEST_GAP:
        starts.extend(range(before, len(block), _CHARS_PER_GAP))
    return starts


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of at most _BLOCK_CHARS, cut between words: the offsets of a whole book at once take much memory."""
    start = 0
    while len(text) - start > _BLOCK_CHARS:
        end = start + _BLOCK_CHARS
        for mark in ("\n\n", "\n", " "):
            found = text.rfind(mark, start + _BLOCK_CHARS // 2, end)
            if found > 0:
                end = found + len(mark)
                break
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)
