"""From a model's pieces to text that may be shown: whole characters, nothing from a stop string on, no thoughts."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

# Turn markers of common models. Some write them letter by letter instead of as one token.
TURN_MARKERS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<end_of_turn>",
    "<start_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
)


class Utf8Pieces:
    """Bytes in, whole characters out; half a character waits for its rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def text(self, piece: bytes) -> str:
        return self._decoder.decode(piece)


class StopText:
    """Lets text through up to the first stop string, also one that comes in pieces.

    >>> stop = StopText(["<|eot_id|>"])
    >>> [stop.feed(piece) for piece in ("Answer.", "<|eot", "_id|>user")], stop.found
    (['Answer.', '', ''], True)
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.found = False

    def feed(self, text: str) -> str:
        """What may be shown now; "" after a stop string was found."""
        if self.found:
            return ""
        self._held += text
        at = min((at for stop in self._stops if (at := self._held.find(stop)) >= 0), default=-1)
        if at >= 0:
            self.found = True
            shown, self._held = self._held[:at], ""
            return shown
        keep = _open_end(self._held, self._stops)
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown

    def rest(self) -> str:
        """What was held back when the reply ended for another reason."""
        rest, self._held = self._held, ""
        return rest


class ThinkingText:
    """Drops a <think> … </think> that a reply begins with, also while it streams; later ones are ordinary text.

    >>> thinking = ThinkingText()
    >>> [thinking.feed(piece) for piece in ("<thi", "nk>hm", "</think>", "Yes.")]
    ['', '', '', 'Yes.']
    """

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._held = ""
        self._state = "before"  # -> "thinking" -> "after"

    def feed(self, text: str) -> str:
        """What may be shown now."""
        if self._state == "after":
            return text
        self._held += text
        if self._state == "before":
            start = self._held.lstrip()
            if start.startswith(self.OPEN):
                self._state, self._held = "thinking", start[len(self.OPEN) :]
            elif self.OPEN.startswith(start):
                return ""
            else:
                return self._pass(self._held)
        at = self._held.find(self.CLOSE)
        return "" if at < 0 else self._pass(self._held[at + len(self.CLOSE) :].lstrip())

    def rest(self) -> str:
        """What was held back when the reply ended; nothing of an unfinished thought."""
        return self._held if self._state == "before" else ""

    def _pass(self, text: str) -> str:
        self._state, self._held = "after", ""
        return text


def _open_end(text: str, markers: Sequence[str]) -> int:
    """Length of the longest end of `text` that begins one of the markers."""
    longest = max(map(len, markers), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(marker.startswith(text[-size:]) for marker in markers):
            return size
    return 0
