"""File names as people see them."""

from __future__ import annotations

from core.text.clean import clean


def display_name(name: str) -> str:
    """The last part of a path, on one line, without control and direction characters; "unnamed" if nothing is left."""
    last = clean(name).replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    return " ".join(last.split()) or "unnamed"
