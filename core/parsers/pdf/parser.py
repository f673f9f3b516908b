"""PDF with a text layer: pages in reading order, paragraphs, headings, each page marked.

Removed: headers and footers that are on most pages (one of each is kept in the metadata, as `page_edges`) and, with a
warning, text that nobody can see and pages whose text layer is unreadable. Not done: text recognition (OCR), tables,
annotations, attachments.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING

from core.domain import Document
from core.errors import DocumentError
from core.parsers.outcome import finished
from core.parsers.pdf.headings import Headings, find_headings
from core.parsers.pdf.hidden import HiddenText
from core.parsers.pdf.layout import is_right_to_left, merged, read_blocks
from core.parsers.pdf.opening import mupdf_errors, opened
from core.parsers.pdf.paragraphs import compounds_in, continues, joined, paragraph_text
from core.parsers.pdf.quality import is_unreadable
from core.parsers.pdf.reading_order import in_reading_order
from core.parsers.pdf.repeats import without_repeats
from core.parsers.pdf.rows import Block
from core.text.builder import TextBuilder
from core.text.file_names import display_name

if TYPE_CHECKING:
    import pymupdf

_OCR = "run text recognition (OCR) on it and add the result"


class PdfParser:
    """PDF with a text layer: pages in reading order, headings, page numbers."""

    name = "pdf"

    def __init__(self) -> None:
        self.progress: Callable[[int, int], None] | None = None

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        name = display_name(file_name)
        hidden, unreadable, broken = HiddenText(), [], []
        with opened(data, file_name, password) as pdf:
            pages, heights = self._read(pdf, hidden, unreadable, broken)
            outline = [(level, title, page) for level, title, page, *_ in pdf.get_toc(simple=True)]
            title, count, was_repaired = (pdf.metadata or {}).get("title"), pdf.page_count, pdf.is_repaired
        if not any(pages):
            raise _without_text(name, was_repaired or bool(broken), len(unreadable))
        pages, repeats = without_repeats(pages, heights)
        builder = TextBuilder()
        _write(builder, pages, find_headings(pages, outline))
        return finished(
            builder,
            file_name,
            warnings=[
                "the file is damaged and was repaired; text may be missing" if was_repaired else "",
                _on_pages(unreadable, "unreadable text layer", "left out; text recognition (OCR) would read it"),
                _on_pages(broken, "damaged content", "left out"),
                hidden.warning(),
            ],
            otherwise=f"it may be scanned images: {_OCR}",
            title=None if (title or "").strip().lower() == "untitled" else title,
            pages=count,
            page_edges=" · ".join(repeats),
        )

    def _read(
        self, pdf: pymupdf.Document, hidden: HiddenText, unreadable: list[int], broken: list[int]
    ) -> tuple[list[list[Block]], list[float]]:
        pages, heights = [], []
        for number in range(pdf.page_count):
            try:
                page = pdf[number]
                blocks, height = read_blocks(page, hidden), page.rect.height
            except mupdf_errors():  # the other pages may be whole
                broken.append(number + 1)
                blocks, height = [], 0.0
            if is_unreadable("".join(row.text for block in blocks for row in block.rows)):
                unreadable.append(number + 1)
                blocks = []
            pages.append(merged(in_reading_order(blocks, right_to_left=is_right_to_left(blocks))))
            heights.append(height)
            if self.progress:
                self.progress(number + 1, pdf.page_count)
        return pages, heights


def _write(builder: TextBuilder, pages: list[list[Block]], headings: Headings) -> None:
    compounds = compounds_in(block for blocks in pages for block in blocks)
    last = ""
    for number, blocks in enumerate(pages, start=1):
        paragraphs = _paragraphs(blocks, headings, compounds)
        if not paragraphs:
            continue
        # A sentence that goes on over the page stays one for the splitter.
        if paragraphs[0][1] is None and continues(last, paragraphs[0][0]):
            builder.new_line()
        else:
            builder.new_paragraph()
        with builder.mark("page", number):
            for index, (text, heading) in enumerate(paragraphs):
                if heading:
                    builder.heading(*heading, line=text)
                else:
                    if index:
                        builder.new_paragraph()
                    builder.append(text)
        last = paragraphs[-1][0]


def _paragraphs(
    blocks: list[Block], headings: Headings, compounds: Set[str]
) -> list[tuple[str, tuple[int, str] | None]]:
    paragraphs: list[tuple[str, tuple[int, str] | None]] = []
    before: Block | None = None
    for block in blocks:
        heading = headings.get(id(block))
        text = paragraph_text(block, compounds)
        of_same_type = before is not None and abs(before.rows[-1].size - block.rows[0].size) < 0.05 * block.rows[0].size
        before = block
        if heading is None and of_same_type and paragraphs[-1][1] is None and continues(paragraphs[-1][0], text):
            paragraphs[-1] = (joined(paragraphs[-1][0], text, compounds), None)
        else:
            paragraphs.append((" ".join(text.split("\n")) if heading else text, heading))
    return paragraphs


def _without_text(name: str, was_repaired: bool, unreadable: int) -> DocumentError:
    if unreadable:
        reason = f"has a text layer that can't be read: its fonts don't say which characters they draw; {_OCR}"
    elif was_repaired:
        reason = "is damaged and no text could be saved from it; download or export it again"
    else:
        reason = f"holds no text; it may be scanned images: {_OCR}"
    return DocumentError(f"{name!r} {reason}", file_name=name)


def _on_pages(pages: list[int], what: str, then: str) -> str:
    if not pages:
        return ""
    places = ", ".join(map(str, pages[:10])) + (", …" if len(pages) > 10 else "")
    return f"{what} on page {places}: {then}"
