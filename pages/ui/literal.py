"""Text of people and documents where Streamlit reads Markdown or HTML: shown as it stands, with no side effects."""

from __future__ import annotations

import html
import re
import unicodedata

# All ASCII punctuation can be escaped in Markdown. A colon could still begin ":smile:" or ":red[", which are looked for
# when escapes are gone already, so an invisible word joiner goes behind it.
_PUNCTUATION = re.compile(r"([!\"#$%&'()*+,\-./;<=>?@\[\\\]^_`{|}~])")
_WORD_JOINER = "\u2060"


def literal(text: str) -> str:
    """For labels, messages and captions: `~0.5 [x](y) :smile: $1$` is seen as typed, on one line."""
    one_line = " ".join(visible(text).split())
    escaped = _PUNCTUATION.sub(r"\\\1", one_line)
    return re.sub(r":(?=\S)", ":" + _WORD_JOINER, escaped)


def escaped(text: str) -> str:
    """For `st.html`: no character of `text` is markup."""
    return html.escape(text, quote=True)


def visible(text: str) -> str:
    """Without control characters and without those that turn the writing direction (a name can't play another)."""
    return "".join(c for c in text if c in "\n\t" or not (unicodedata.category(c) in ("Cc", "Cs") or c in _BIDI))


_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


def as_sentence(text: str) -> str:
    """The engine's reasons begin small, as they do behind a colon: "no answer was produced" gives "No answer …"."""
    return text[:1].upper() + text[1:]


def shortened(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
