"""PDF with a text layer: pages in reading order, paragraphs, headings, each page marked.

Removed: headers and footers that are on most pages (one of each is kept in the metadata, as `page_edges`) and, with a
warning, text that nobody can see and pages whose text layer is unreadable. Not done: text recognition (OCR), tables,
annotations, attachments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.domain import Document
from core.errors import DocumentError
from core.parsers.outcome import metadata_of
from core.parsers.parts import PART_CHARS, PART_PAGES, DocumentPart, PartSeries
from core.parsers.pdf.headings import Headings, TypeSeen, find_headings
from core.parsers.pdf.hidden import HiddenText, page_list
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

# Enough to see whether a sentence ends there, and whether the line is long enough to be one.
_LAST_LINE_CHARS = 200
_OCR = "run text recognition (OCR) on it and add the result"


class PdfParser:
    """PDF with a text layer: pages in reading order, headings, page numbers."""

    name = "pdf"

    def __init__(self) -> None:
        self.progress: Callable[[int, int], None] | None = None

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        with opened(data, file_name, password) as pdf:
            return next(self._parts(pdf, file_name, None, math.inf, math.inf)).document

    def parts(
        self, path: Path, file_name: str = "", password: str | None = None, after: Mapping[str, Any] | None = None
    ) -> Iterator[DocumentPart]:
        """What is decided from a look at all pages (headings by type, running heads) is decided for each part from its
        own and earlier pages."""
        with opened(path, file_name, password) as pdf:
            yield from self._parts(pdf, file_name, after, PART_PAGES, PART_CHARS)

    def _parts(
        self,
        pdf: pymupdf.Document,
        file_name: str,
        after: Mapping[str, Any] | None,
        most_pages: float,
        most_chars: float,
    ) -> Iterator[DocumentPart]:
        import pymupdf

        state = _State.of_json(after["pdf"]) if after else _State()
        title = (pdf.metadata or {}).get("title")
        outline = [(level, heading, page) for level, heading, page, *_ in pdf.get_toc(simple=True)]
        series = PartSeries(file_name, after, otherwise=f"it may be scanned images: {_OCR}")
        is_last = False
        while not is_last:
            first = state.page + 1
            pages, heights = self._read(pdf, state, most_pages, most_chars)
            is_last = state.page >= pdf.page_count
            state.was_repaired = state.was_repaired or pdf.is_repaired
            state.has_blocks = state.has_blocks or any(pages)
            if is_last and not state.has_blocks:
                raise _without_text(display_name(file_name), state)
            pages, repeats = without_repeats(pages, heights, first=first, known=state.repeated)
            builder = TextBuilder(goes_on=series.start > 0, path=state.path)
            headings = find_headings(pages, outline, first=first, seen=state.seen)
            state.last_line = _write(builder, pages, headings, first, state.last_line)
            state.repeated, state.path = set(repeats), builder.path
            if series.number == 0:
                state.page_edges = " · ".join(dict.fromkeys(repeats.values()))
            metadata = metadata_of(
                warnings=state.warnings if is_last else (),
                title=None if (title or "").strip().lower() == "untitled" else title,
                pages=pdf.page_count,
                page_edges=state.page_edges,
            )
            done = (state.page, pdf.page_count)
            document = builder.build(metadata)
            yield series.part(
                document, {"pdf": state.as_json}, is_last=is_last, share=state.page / pdf.page_count, pages=done
            )
            del pages, builder, headings, document
            pymupdf.TOOLS.store_shrink(100)

    def _read(
        self, pdf: pymupdf.Document, state: _State, most_pages: float, most_chars: float
    ) -> tuple[list[list[Block]], list[float]]:
        """The next pages, as many as one part may have, and their heights."""
        pages, heights, size = [], [], 0
        while state.page < pdf.page_count and len(pages) < most_pages and size < most_chars:
            number = state.page = state.page + 1
            try:
                page = pdf[number - 1]
                blocks, height = read_blocks(page, state.hidden), page.rect.height
            except mupdf_errors():  # the other pages may be whole
                state.broken.append(number)
                blocks, height = [], 0.0
            text = "".join(row.text for block in blocks for row in block.rows)
            if is_unreadable(text):
                state.unreadable.append(number)
                blocks = []
            size += len(text)
            pages.append(merged(in_reading_order(blocks, right_to_left=is_right_to_left(blocks))))
            heights.append(height)
            if self.progress:
                self.progress(number, pdf.page_count)
        return pages, heights


@dataclass
class _State:
    """What the pages read so far say about those that follow. `page`: the last one that was read."""

    page: int = 0
    last_line: str = ""
    path: list[tuple[int, str]] = field(default_factory=list)
    seen: TypeSeen = field(default_factory=TypeSeen)
    repeated: set[str] = field(default_factory=set)
    page_edges: str = ""
    hidden: HiddenText = field(default_factory=HiddenText)
    unreadable: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    was_repaired: bool = False
    has_blocks: bool = False

    @property
    def warnings(self) -> list[str]:
        return [
            "the file is damaged and was repaired; text may be missing" if self.was_repaired else "",
            _on_pages(self.unreadable, "unreadable text layer", "left out; text recognition (OCR) would read it"),
            _on_pages(self.broken, "damaged content", "left out"),
            self.hidden.warning(),
        ]

    @property
    def as_json(self) -> dict[str, Any]:
        plain = {"seen": self.seen.state, "repeated": sorted(self.repeated), "hidden": list(self.hidden.state)}
        return {**vars(self), "path": [list(entry) for entry in self.path], **plain}

    @classmethod
    def of_json(cls, state: Mapping[str, Any]) -> _State:
        kept = {"unreadable": list(state["unreadable"]), "broken": list(state["broken"])}
        kept |= {"seen": TypeSeen.of_state(state["seen"]), "repeated": set(state["repeated"])}
        return cls(**{**state, **kept, "hidden": HiddenText(*state["hidden"])})


def _write(builder: TextBuilder, pages: list[list[Block]], headings: Headings, first: int, last: str) -> str:
    """Returns the end of the last paragraph, which the next part may go on with; `last` is that of the part before."""
    compounds = compounds_in(block for blocks in pages for block in blocks)
    for number, blocks in enumerate(pages, start=first):
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
    return last[-_LAST_LINE_CHARS:]


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


def _without_text(name: str, state: _State) -> DocumentError:
    if state.unreadable:
        reason = f"has a text layer that can't be read: its fonts don't say which characters they draw; {_OCR}"
    elif state.was_repaired or state.broken:
        reason = "is damaged and no text could be saved from it; download or export it again"
    else:
        reason = f"holds no text; it may be scanned images: {_OCR}"
    return DocumentError(f"{name!r} {reason}", file_name=name)


def _on_pages(pages: list[int], what: str, then: str) -> str:
    return f"{what} on page {page_list(pages)}: {then}" if pages else ""
