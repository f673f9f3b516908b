"""The tokens that answers were written with, so that a follow-up finds them in the model's context.

Text that is cut into tokens anew may give others than the model chose ("foot" + "note" for "footnote"), and from the
first that differs everything would have to be read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

_MOST = 64


class WrittenAnswers:
    """The newest answers of one model, by their text; blanks around it don't count, for memory cuts them off."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def keep(self, text: str, tokens: Sequence[int]) -> None:
        key = text.strip()
        if key:
            self._tokens[key] = tuple(tokens)
            self._tokens.move_to_end(key)
        while len(self._tokens) > _MOST:
            self._tokens.popitem(last=False)

    def tokens_of(self, text: str) -> list[int] | None:
        """None for a text that this model didn't write, or wrote long ago."""
        found = self._tokens.get(text.strip())
        return None if found is None else list(found)
