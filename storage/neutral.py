"""Characters that must not be stored as they come: controls, lone surrogates, and in names those that turn text around.

Texts keep their length, so that offsets stay true. Parsers clean first; this is the border that nothing slips through.
"""

from __future__ import annotations

from core.metadata import Metadata
from core.text.neutral import ODD_IN_NAMES, SURROGATES, neutral_source

__all__ = ["neutral_metadata", "neutral_name", "neutral_source", "neutral_text"]

REPLACEMENT = "\ufffd"
_SURROGATES = dict.fromkeys(SURROGATES, REPLACEMENT)
_CONTROLS = {code: " " for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}
_TEXT = _SURROGATES | _CONTROLS
_RAW = {code: value for code, value in _TEXT.items() if code != ord("\r")}

_NAME = dict.fromkeys((*ODD_IN_NAMES, *SURROGATES), REPLACEMENT)


def neutral_text(text: str, *, keep_returns: bool = False) -> str:
    """Same length; C0 controls but tab and newline become a blank, lone surrogates U+FFFD. "a\\0b" gives "a b"."""
    return text.translate(_RAW if keep_returns else _TEXT)


def neutral_name(name: str) -> str:
    """What people see: no control and no bidi character, no blanks around. Never empty."""
    return name.translate(_NAME).strip() or "unnamed"


def neutral_metadata(metadata: Metadata) -> Metadata:
    return Metadata(
        {
            neutral_text(key): neutral_text(value) if isinstance(value, str) else value
            for key, value in metadata.to_dict().items()
        }
    )
