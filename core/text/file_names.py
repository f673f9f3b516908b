"""File names as people see them."""

from __future__ import annotations

from core.text.clean import clean


def display_name(name: str) -> str:
    """The last part of a path, on one line, without control and direction characters; "unnamed" if nothing is left."""
    return one_line(clean(name).replace("\\", "/").rstrip("/ ").rpartition("/")[2]) or "unnamed"


def one_line(text: str) -> str:
    """A path or name for a line of a terminal: nothing in it ends the line, colours it or turns it around."""
    return " ".join(clean(text).split())
