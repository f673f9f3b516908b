"""PDF."""

from __future__ import annotations

from core.domain import Document
from core.parsers.outcome import finished
from core.parsers.pdf.opening import opened
from core.text.builder import TextBuilder


class PdfParser:
    """PDF with a text layer: pages in reading order."""

    name = "pdf"

    def __init__(self) -> None:
        self.progress = None

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        builder = TextBuilder()
        with opened(data, file_name, password) as pdf:
            for number in range(pdf.page_count):
                builder.new_paragraph()
                with builder.mark("page", number + 1):
                    builder.append(pdf[number].get_text().strip())
            return finished(
                builder,
                file_name,
                otherwise="it may be scanned images: run text recognition (OCR) on it and add the result",
                title=(pdf.metadata or {}).get("title"),
                pages=pdf.page_count,
            )
