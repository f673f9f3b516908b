"""Is a page's text layer text at all? Fonts without a character table give replacement or private-use characters."""

from __future__ import annotations

_MAX_SHARE = 0.2
_MIN_UNKNOWN = 10


def is_unreadable(text: str) -> bool:
    """More than 20 % of what isn't blank are U+FFFD, private-use or control characters, and more than ten."""
    visible = [char for char in text if not char.isspace()]
    return sum(map(_is_unknown, visible)) > max(_MAX_SHARE * len(visible), _MIN_UNKNOWN)


def _is_unknown(char: str) -> bool:
    return char == "\ufffd" or "\ue000" <= char <= "\uf8ff" or char >= "\U000f0000" or char < " "
