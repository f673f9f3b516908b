"""Headings: from the outline where the file has one, else from the size and weight of the type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.parsers.pdf.rows import Block

_LARGER = 1.12
_MAX_CHARS = 150
_MAX_ROWS = 3
_MAX_SHARE = 0.3
_LEVELS = 4
_NOT_TEXT = re.compile(r"[\W_]+")

Headings = dict[int, tuple[int, str]]  # id of the block -> level from 1, title
Outline = Sequence[tuple[int, str, int]]  # level, title, page from 1


@dataclass
class TypeSeen:
    """What is known of the type of a document, from its first page up to now.

    characters  by size of type, in points, to a tenth
    weights     of the headings; their ranks are the levels
    standing_out  characters in short blocks that stand out
    by_outline  headings of the outline were found on the pages
    """

    characters: Counter[float] = field(default_factory=Counter)
    weights: set[float] = field(default_factory=set)
    standing_out: int = 0
    by_outline: bool = False

    @property
    def state(self) -> dict[str, Any]:
        """Plain JSON, for `of_state`."""
        characters = [list(item) for item in self.characters.items()]
        return {**vars(self), "characters": characters, "weights": sorted(self.weights)}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> TypeSeen:
        characters = Counter({size: count for size, count in state["characters"]})
        return cls(**{**state, "characters": characters, "weights": set(state["weights"])})


def find_headings(
    pages: Sequence[list[Block]], outline: Outline, *, first: int = 1, seen: TypeSeen | None = None
) -> Headings:
    """May split a block of `pages` where a heading of the outline is a row inside it.

    first  number of the first of these pages
    seen   of the pages before these; brought up to date
    """
    seen = TypeSeen() if seen is None else seen
    found = _from_outline(pages, outline, first)
    seen.by_outline = seen.by_outline or bool(found)
    return found if seen.by_outline else _from_type(pages, seen)


def _from_outline(pages: Sequence[list[Block]], outline: Outline, first: int) -> Headings:
    """An entry whose words aren't found as a block of its page is left out."""
    headings: Headings = {}
    for level, title, page in outline:
        wanted = _folded(title)
        if not wanted or not first <= page < first + len(pages):
            continue
        blocks = pages[page - first]
        block = next((item for item in blocks if id(item) not in headings and _matches(_title(item), wanted)), None)
        block = block or _split_off(blocks, wanted)
        if block is not None:
            headings[id(block)] = (level, title)
    return headings


def _matches(text: str, wanted: str) -> bool:
    """ "1 Introduction" on the page is "Introduction" in the outline, or the other way round."""
    text = _folded(text)
    contains = text.endswith(wanted) or wanted.endswith(text)
    return bool(text) and contains and abs(len(text) - len(wanted)) < 8


def _split_off(blocks: list[Block], wanted: str) -> Block | None:
    """Make the row that is the heading a block of its own."""
    for place, block in enumerate(blocks):
        for at, row in enumerate(block.rows):
            if len(block.rows) > 1 and _folded(row.text) and _matches(row.text, wanted):
                heading = Block([row], block.flow)
                parts = [Block(block.rows[:at], block.flow), heading, Block(block.rows[at + 1 :], block.flow)]
                blocks[place : place + 1] = [part for part in parts if part.rows]
                return heading
    return None


def _from_type(pages: Sequence[list[Block]], seen: TypeSeen) -> Headings:
    """Short blocks that are larger than the body, or as large and bold; sizes ranked give the levels."""
    for blocks in pages:
        for block in blocks:
            for row in block.rows:
                seen.characters[round(row.size, 1)] += len(row.text)
    if not seen.characters:
        return {}
    body = seen.characters.most_common(1)[0][0]
    candidates = [block for blocks in pages for block in blocks if _is_short(block) and _stands_out(block, body)]
    seen.standing_out += sum(len(_title(block)) for block in candidates)
    # Where everything stands out, nothing does: forms, slides, posters.
    if seen.standing_out > _MAX_SHARE * seen.characters.total():
        return {}
    seen.weights |= {_weight(block, body) for block in candidates}
    ranks = sorted(seen.weights, reverse=True)
    return {id(block): (min(ranks.index(_weight(block, body)), _LEVELS - 1) + 1, _title(block)) for block in candidates}


def _is_short(block: Block) -> bool:
    text = _title(block)
    has_word = re.search(r"[^\W\d_]{2}", text) is not None
    if block.flow == "aside" or any(row.cells > 1 for row in block.rows):
        return False
    return has_word and len(block.rows) <= _MAX_ROWS and len(text) <= _MAX_CHARS


def _stands_out(block: Block, body: float) -> bool:
    size = block.rows[0].size
    is_bold = all(row.is_bold for row in block.rows)
    return size > body * _LARGER or (is_bold and size > body * 0.97 and not _title(block).endswith((".", ",", ":")))


def _weight(block: Block, body: float) -> float:
    return max(round(block.rows[0].size), round(body * _LARGER))


def _title(block: Block) -> str:
    return " ".join(row.text for row in block.rows)


def _folded(text: str) -> str:
    return _NOT_TEXT.sub("", text).casefold()
