"""Plain text, and everything that reads as text: source code, JSON, YAML, logs.

YAML is never loaded: a file of 300 bytes can stand for a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.domain import Document
from core.parsers.outcome import finished, metadata_of
from core.parsers.parts import PART_CHARS, DocumentPart, PartSeries, opened_text, text_state
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

    def parts(
        self, path: Path, file_name: str = "", password: str | None = None, after: Mapping[str, Any] | None = None
    ) -> Iterator[DocumentPart]:
        series = PartSeries(file_name, after)
        with opened_text(path, after) as text:
            at = after["at"] if after else text.encoding.start
            is_last = False
            while not is_last:
                found, at = text.stretch(at, PART_CHARS * text.encoding.width)
                is_last = at >= text.size
                metadata = metadata_of(warnings=text.warnings if is_last else (), encoding=text.encoding.name)
                document = Document(found.rstrip() if is_last else found, metadata)
                state = {**text_state(text), "at": at}
                yield series.part(document, state, is_last=is_last, share=at / max(text.size, 1))
