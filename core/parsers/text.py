"""Plain text, and everything that reads as text: source code, JSON, YAML, logs.

YAML is never loaded: a file of 300 bytes can stand for a gigabyte.
"""

from __future__ import annotations

from core.domain import Document
from core.parsers.outcome import finished
from core.text.builder import TextBuilder
from core.text.encoding import decode


class TextParser:
    """Text as it stands, in any usual encoding."""

    name = "text"

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        decoded = decode(data)
        builder = TextBuilder()
        builder.append(decoded.text)
        return finished(builder, file_name, warnings=decoded.warnings, encoding=decoded.encoding)
