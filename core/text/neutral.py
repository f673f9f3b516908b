"""Characters that aren't stored as they come: controls, lone surrogates, and in names those that turn text around."""

from __future__ import annotations

SURROGATES = range(0xD800, 0xE000)

# C0 and C1 controls; bidi overrides, embeddings, isolates and marks; line and paragraph separators.
ODD_IN_NAMES = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x061C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    0xFEFF,
)
_SOURCE = {code: f"\\u{code:04x}" for code in (*ODD_IN_NAMES, *SURROGATES)}


def neutral_source(source: str) -> str:
    """An identity as it is stored: such characters are spelled out, so that different sources stay different.

    The stored text is no path any more: compare it with the neutral form of a path, never open it.
    """
    return source.translate(_SOURCE)
