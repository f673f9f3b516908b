"""Text is cleaned once, at the parser's border. What is shown is NFC; what is searched is folded further elsewhere.

`clean` leaves no lone surrogate, no control character but tab and newline, no Latin ligature, no invisible character
without a meaning. It keeps the joiners of emoji sequences and of Arabic and Indic scripts, and is idempotent.
It doesn't trim, wrap or collapse: layout is the parsers' business.
"""

from __future__ import annotations

import re
import unicodedata

_LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"} | {
    "\ufb05": "st",
    "\ufb06": "st",
}
_LINE_ENDS = dict.fromkeys("\r\x0b\x0c\x85\u2028", "\n") | {"\r\n": "\n", "\u2029": "\n\n"}
# A space, so that the words on both sides of a NUL stay words.
_BLANKS = dict.fromkeys([*map(chr, range(9)), *map(chr, range(0x0E, 0x20)), *map(chr, range(0x7F, 0xA0))], " ")
_SPACES = dict.fromkeys("\xa0\u2007\u202f\ufffc", " ")
_MEANINGS = {**_BLANKS, **_SPACES, **_LINE_ENDS, **_LIGATURES, "\ufffe": "\ufffd", "\uffff": "\ufffd"}

# All that `_meaning` changes: the keys above, soft hyphens, zero-width and direction marks, annotation marks.
_CHANGED = re.compile(
    "\xad(?:[ \t]*\r?\n[ \t]*(?=\\w))?|\r\n?|[\x00-\x08\x0b-\x1f\x7f-\xa0\u034f\u061c\u115f\u1160\u180e\u200b\u200e"
    "\u200f\u2007\u2028-\u202f\u2060-\u206f\ufb00-\ufb06\ufeff\ufff9-\ufffc\ufffe\uffff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Letters of flags such as Wales' after a black flag; anywhere else they only hide text.
_HIDDEN_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+")

_JOINERS = re.compile("[\u200c\u200d]+")
_JOINED_SCRIPTS = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufeff\U00010a00-\U00011fff]"
)
_EMOJI = re.compile("[\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f]")


def clean(text: str) -> str:
    """`clean("\\ufb01nal\\r\\nab\\x00cd")` gives "final\\nab cd"."""
    if _SURROGATE.search(text):
        # Valid pairs become their character, lone ones U+FFFD.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # At once: a match for each line end of a large file would take as much memory again as the file.
    text = text.replace("\r\n", "\n")
    text = _CHANGED.sub(_meaning, text)
    if not text.isascii():
        text = _HIDDEN_TAGS.sub("", text)
        text = _JOINERS.sub(_joiner, text)
        text = unicodedata.normalize("NFC", text)
    return text


def _meaning(match: re.Match[str]) -> str:
    return _MEANINGS.get(match.group(), "")


def _joiner(match: re.Match[str]) -> str:
    """A single joiner stays between two emoji, or two letters of a script that joins."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    if len(match.group()) > 1 or not before or not after:
        return ""
    if _JOINED_SCRIPTS.match(before) and _JOINED_SCRIPTS.match(after):
        return match.group()
    return match.group() if match.group() == "\u200d" and _EMOJI.match(before) and _EMOJI.match(after) else ""
