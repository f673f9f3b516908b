"""Goes through the visible part of an HTML tree, without recursion: pages nest thousands of levels deep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from bs4.element import CData, NavigableString, PreformattedString, Tag

_DROPPED_NAMES = (
    "head script style template noscript iframe object embed canvas audio video map rt rp select datalist "
    "annotation annotation-xml"
)
_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math meter nobr output q "
    "rb ruby s samp small span strike strong sub sup time tspan tt u var wbr input"
)
DROPPED = frozenset(_DROPPED_NAMES.split())
INLINE = frozenset(_INLINE_NAMES.split())
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])"
)

Event = tuple[Literal["open", "close", "text"], Tag | NavigableString]


class Walk:
    """Events in document order: ("open", tag), ("text", string), ("close", tag). Hidden ones are skipped and counted.

    After an "open", `skip()` leaves out what is inside the tag, and its "close".
    """

    def __init__(self, root: Tag, hidden: list[str] | None = None) -> None:
        self.hidden: list[str] = [] if hidden is None else hidden
        self._root = root
        self._skipped = False

    def skip(self) -> None:
        self._skipped = True

    def __iter__(self) -> Iterator[Event]:
        stack = [(self._root, iter(self._root.contents))]
        while stack:
            parent, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                if stack:
                    yield "close", parent
            elif isinstance(child, Tag):
                if child.name in DROPPED or self._is_hidden(child):
                    continue
                self._skipped = False
                yield "open", child
                if not self._skipped:
                    stack.append((child, iter(child.contents)))
            elif isinstance(child, CData) or not isinstance(child, PreformattedString):
                # The other preformatted strings are comments, declarations and processing instructions.
                yield "text", child

    def _is_hidden(self, tag: Tag) -> bool:
        attributes = tag.attrs
        if not attributes:
            return False
        # hidden="until-found" is a collapsed answer that the browser's own search opens.
        hidden = (
            ("hidden" in attributes and attributes["hidden"] != "until-found")
            or attributes.get("aria-hidden") == "true"
            or (tag.name == "input" and attributes.get("type") == "hidden")
            or _INVISIBLE.search(str(attributes.get("style", "")).lower()) is not None
        )
        if hidden and any(map(str.isalnum, text := tag.get_text(" ", strip=True))):
            self.hidden.append(text)
        return hidden


def is_block(tag: Tag) -> bool:
    return tag.name not in INLINE
