"""Characters that must not be stored as they come: controls, lone surrogates, and in names those that turn text around.

Texts keep their length, so that offsets stay true. Parsers clean first; this is the border that nothing slips through.
"""

from __future__ import annotations

from core.metadata import Metadata

REPLACEMENT = "\ufffd"
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), REPLACEMENT)
_CONTROLS = {code: " " for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}
_TEXT = _SURROGATES | _CONTROLS
_RAW = {code: value for code, value in _TEXT.items() if code != ord("\r")}

# Bidi overrides, embeddings, isolates and marks; line and paragraph separators; C1 controls.
_TURNING = (*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_NAME = dict.fromkeys((*range(0x20), 0x7F, *_TURNING), REPLACEMENT) | _SURROGATES
_SOURCE = {code: f"\\u{code:04x}" for code in _NAME}


def neutral_text(text: str, *, keep_returns: bool = False) -> str:
    """Same length; C0 controls but tab and newline become a blank, lone surrogates U+FFFD. "a\\0b" gives "a b"."""
    return text.translate(_RAW if keep_returns else _TEXT)


def neutral_name(name: str) -> str:
    """What people see: no control and no bidi character, no blanks around. Never empty."""
    return name.translate(_NAME).strip() or "unnamed"


def neutral_source(source: str) -> str:
    """An identity: such characters are spelled out, so that different sources stay different."""
    return source.translate(_SOURCE)


def neutral_metadata(metadata: Metadata) -> Metadata:
    return Metadata(
        {
            neutral_text(key): neutral_text(value) if isinstance(value, str) else value
            for key, value in metadata.to_dict().items()
        }
    )
