"""The text of inline content, with white space collapsed as a browser does."""

from __future__ import annotations

import re

from bs4.element import Tag

from core.parsers.html.walk import Walk, is_block
from core.text.cjk import WIDE

_SPACE = re.compile(r"[ \t\n\r\f]+")
_BREAK_BETWEEN_WIDE = re.compile(rf"(?<=[{WIDE}])[ \t]*\n\s*(?=[{WIDE}])")
_BOUNDARY = re.compile("[ \x1e\x1f]+")
_SEPARATED = frozenset({"li", "tr", "dd"})


def collapse(text: str) -> str:
    """One space for each run of white space; none for a line break of the source between two CJK characters."""
    return _SPACE.sub(" ", _BREAK_BETWEEN_WIDE.sub("", text))


def flat_text(tag: Tag, hidden: list[str]) -> str:
    """All that is visible in `tag`, on one line: blocks apart by a space, list items and rows by "; "."""
    parts: list[str] = []
    walk = Walk(tag, hidden)
    for kind, node in walk:
        if kind == "text":
            parts.append(str(node))
        elif kind == "open" and node.name == "img":
            parts.append(f" {node.get('alt') or ''} ")
        elif node.name == "br" or is_block(node):
            parts.append("\x1f" if kind == "close" and node.name in _SEPARATED else "\x1e")
    text = collapse("".join(parts)).strip(" \x1e\x1f")
    return _BOUNDARY.sub(lambda match: "; " if "\x1f" in match.group() else " ", text)
