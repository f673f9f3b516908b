"""Headers and footers: lines at the edge of most pages, the same but for their numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set

from core.parsers.pdf.rows import Block, Row

_EDGE_ROWS = 3
_MIN_PAGES = 3
_MIN_SHARE = 0.6
_EDGE_SHARE = 0.15


def without_repeats(
    pages: Sequence[list[Block]], heights: Sequence[float], *, first: int = 1, known: Set[str] = frozenset()
) -> tuple[list[list[Block]], dict[str, str]]:
    """The pages without lines that are repeated on at least 60 % of them, and each such line's key with an example.

    `heights` of the pages in points. A line must stand in the outer 15 % of its page. Fewer than three pages, or a
    document that would lose most of its pages' text, stay as they are.

    first  number of the first of these pages
    known  keys of lines that were repeated on the pages before these; they go wherever they stand
    """
    numbers = range(first, first + len(pages))
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for number, blocks, height in zip(numbers, pages, heights, strict=True):
        found = {key: row.text for row in _edge_rows(blocks, height) for key in _keys(row, number)}
        counts.update(found.keys())
        for key, text in found.items():
            examples.setdefault(key, text)
    least = max(_MIN_PAGES, _MIN_SHARE * len(pages))
    repeated = {key: text for key, text in examples.items() if counts[key] >= least or key in known}
    if not repeated:
        return list(pages), {}
    cleaned = [
        _without(blocks, height, number, repeated.keys())
        for number, blocks, height in zip(numbers, pages, heights, strict=True)
    ]
    emptied = sum(bool(before) and not after for before, after in zip(pages, cleaned, strict=True))
    if emptied > len(pages) / 2:
        return list(pages), {}
    return cleaned, repeated


def _edge_rows(blocks: list[Block], height: float) -> list[Row]:
    rows = sorted((row for block in blocks for row in block.rows), key=lambda row: row.y0)
    top = [row for row in rows[:_EDGE_ROWS] if row.y1 < _EDGE_SHARE * height]
    return top + [row for row in rows[-_EDGE_ROWS:] if row.y0 > (1 - _EDGE_SHARE) * height]


def _keys(row: Row, page: int) -> set[str]:
    """What must be equal on other pages: the text, or the text with one of its numbers running with the pages.

    "Page 3 of 9" on page 3 and "Page 4 of 9" on page 4 share "page <+0> of 9". Three numbers are a table.
    """
    text = row.text.casefold()
    keys = {text} if any(map(str.isalpha, text)) else set()
    numbers = list(re.finditer(r"\d{1,4}", text))
    if len(numbers) <= 2:
        for match in numbers:
            keys.add(f"{text[: match.start()]}<{int(match.group()) - page:+d}>{text[match.end() :]}")
    return keys


def _without(blocks: list[Block], height: float, number: int, repeated: Set[str]) -> list[Block]:
    gone = {id(row) for row in _edge_rows(blocks, height) if _keys(row, number) & repeated}
    kept = [Block([row for row in block.rows if id(row) not in gone]) for block in blocks]
    return [block for block in kept if block.rows]
