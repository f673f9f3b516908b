"""Rows back to paragraphs: words cut at a line's end are put together, lines that were only wrapped are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from itertools import pairwise

from core.parsers.pdf.rows import Block, Row
from core.text.cjk import WIDE

_HYPHENS = "\u2010\u00ad-"
_WORD_CUT = re.compile(rf"(\w[\w'’{_HYPHENS}]*)[{_HYPHENS}]$")
_WORD_START = re.compile(r"[\w'’]+")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")
_BULLET = re.compile(
    r"(?:[•·▪‣◦●○■□–—*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])(?:\s|$)"
    r"|第[一二三四五六七八九十百\d]+[条章節項款]|[ａ-ｚ０-９①-⑳][．.）)\s]"
)
_LEADERS = re.compile(r"(?:[.·…⋯・]\s?){4,}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ENDS_WIDE = re.compile(rf"[{WIDE}]$")
_STARTS_WIDE = re.compile(rf"[{WIDE}]")
_TITLE_CHARS = 25
_SENTENCE_END = re.compile(r"[.!?:;。！？：；…][\"'”’»)」』）\]]*$")


def compounds_in(blocks: Iterable[Block]) -> set[str]:
    """Words with a hyphen inside a row, folded: they keep it at a line's end, too."""
    return {word.casefold() for block in blocks for row in block.rows for word in _COMPOUND.findall(row.text)}


def paragraph_text(block: Block, compounds: Set[str]) -> str:
    """Wrapped lines are joined; lines that end early (lists, addresses, table rows) stay lines."""
    text = block.rows[0].text
    for before, row in pairwise(block.rows):
        text = joined(text, row.text, compounds) if _is_wrapped(before, row, block) else f"{text}\n{row.text}"
    return text


def continues(text: str, following: str) -> bool:
    """Whether a paragraph goes on in the next block, column or page."""
    last_line = text[text.rfind("\n") + 1 :]
    if not last_line or not following or _SENTENCE_END.search(text):
        return False
    if following[0].islower():
        return True
    # Scripts without capitals don't show where a sentence begins; a title is short.
    has_no_case = following[0].isalpha() and following[0].lower() == following[0].upper()
    return has_no_case and last_line[-1].isalpha() and len(last_line) >= _TITLE_CHARS


def joined(text: str, following: str, compounds: Set[str]) -> str:
    """`joined("an ef-", "ficient way", set())` gives "an efficient way"; CJK lines are joined without a blank."""
    cut = _WORD_CUT.search(text)
    start = _WORD_START.match(following)
    if cut and start and following[0].islower():
        first = cut.group(1)
        keeps = f"{first}-{start.group()}".casefold() in compounds or any(sign in first for sign in _HYPHENS)
        return (text if keeps else text[:-1]) + following
    if (cut and start) or (_ENDS_WIDE.search(text) and _STARTS_WIDE.match(following)):
        return text + following
    return f"{text} {following}"


def _is_wrapped(before: Row, row: Row, block: Block) -> bool:
    if _BULLET.match(row.text) or _LEADERS.search(before.text) or before.cells > 1 or row.cells > 1:
        return False
    if _WORD_CUT.search(before.text) and row.text[:1].isalpha():
        return True
    # The next row's first word would not have fitted any more: about six characters of room, three in CJK.
    room = 3 * before.size if _ENDS_WIDE.search(before.text) else 5 * before.size
    left = before.x0 - block.x0 if _RIGHT_TO_LEFT.search(before.text) else block.x1 - before.x1
    # Narrow blocks are lists and addresses.
    return left <= room and block.x1 - block.x0 > 12 * before.size
