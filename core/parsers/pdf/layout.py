"""From a page's text as PyMuPDF gives it to rows and blocks in the order in which people read them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from core.parsers.pdf.gutter import split_at_gutter
from core.parsers.pdf.hidden import HiddenText
from core.parsers.pdf.rows import Block, Row
from core.text.cjk import WIDE

if TYPE_CHECKING:
    import pymupdf

_BOLD = 16
_MAX_LINE_STEP = 2.1  # font sizes; double spacing is 2
# Bullets of symbol fonts come out as U+FFFD or private-use characters.
_BULLET_WITHOUT_NAME = re.compile("^[\ufffd\ue000-\uf8ff] +(?=\\w)")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_SPACE_BETWEEN_WIDE = re.compile(rf"(?<=[{WIDE}]) +(?=[{WIDE}])")
_WIDE_PAIR = re.compile(rf"(?<=[{WIDE}])(?=[{WIDE}])")


def read_blocks(page: pymupdf.Page, hidden: HiddenText) -> list[Block]:
    """The page's blocks, text that nobody can see left out. Text that runs down or aside is one row a block."""
    import pymupdf

    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
    across, others = [], []
    for raw in page.get_text("dict", flags=flags)["blocks"]:
        flows: dict[str, list[Row]] = {}
        for line in raw.get("lines", ()):
            if piece := _piece(line, page, hidden):
                flow = "down" if line["wmode"] else "aside" if abs(line["dir"][1]) > 0.7 else "across"
                flows.setdefault(flow, []).append(piece)
        for flow, pieces in flows.items():
            if flow == "across":
                across.append(pieces)
            else:
                others.append(Block([_joined(pieces, "".join(piece.text for piece in pieces))], flow))
    return [block for pieces in split_at_gutter(across) for block in _split(_rows(pieces))] + others


def _piece(line: dict, page: pymupdf.Page, hidden: HiddenText) -> Row | None:
    spans = [span for span in line["spans"] if not hidden.is_hidden(span, page)]
    text = "".join(span["text"] for span in spans)
    if not text.strip():
        return None
    main = max(spans, key=lambda span: len(span["text"].strip()))
    is_bold = all(span["flags"] & _BOLD or "bold" in span["font"].lower() for span in spans if span["text"].strip())
    return Row(text, *line["bbox"], size=main["size"], is_bold=is_bold)


def _rows(pieces: list[Row]) -> list[Row]:
    """Pieces at the same height are one row, from left to right, or from right to left in Hebrew and Arabic."""
    groups: list[list[Row]] = []
    for piece in pieces:
        last = groups[-1][-1] if groups else None
        overlap = min(last.y1, piece.y1) - max(last.y0, piece.y0) if last else 0.0
        if last and overlap > 0.5 * min(last.y1 - last.y0, piece.y1 - piece.y0):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    rows = []
    for group in groups:
        is_rtl = sum(bool(_RTL.search(piece.text)) for piece in group) > len(group) / 2
        group.sort(key=lambda piece: -piece.x1 if is_rtl else piece.x0)
        far = sum(b.x0 - a.x1 > 2.5 * a.size for a, b in pairwise(group))
        text = group[0].text
        for before, piece in pairwise(group):
            gap = before.x0 - piece.x1 if is_rtl else piece.x0 - before.x1
            text = _appended(text, before.text, piece.text, gap / max(piece.size, 1), is_cells=far > 1)
        rows.append(_joined(group, text, far + 1))
    return rows


def _appended(text: str, before: str, piece: str, gap: float, *, is_cells: bool) -> str:
    """`gap` in font sizes. A blank that reaches under the next glyph is no blank on the page."""
    if gap < -0.3 and min(len(before.strip()), len(piece.strip())) < 3:
        return text.rstrip() + piece.lstrip()
    if gap > 2.5 and is_cells:
        return f"{text.rstrip()} | {piece.lstrip()}"
    return text + piece if -0.3 <= gap < 0.15 else f"{text.rstrip()} {piece.lstrip()}"


def _joined(pieces: list[Row], text: str, cells: int = 1) -> Row:
    main = max(pieces, key=lambda piece: len(piece.text))
    return Row(
        _BULLET_WITHOUT_NAME.sub("• ", _without_wide_gaps(" ".join(text.split()))),
        min(piece.x0 for piece in pieces),
        min(piece.y0 for piece in pieces),
        max(piece.x1 for piece in pieces),
        max(piece.y1 for piece in pieces),
        main.size,
        all(piece.is_bold for piece in pieces),
        cells,
    )


def _without_wide_gaps(text: str) -> str:
    """Blanks between CJK characters go where each glyph was placed alone, not where one blank separates two words."""
    gaps = len(_SPACE_BETWEEN_WIDE.findall(text))
    return _SPACE_BETWEEN_WIDE.sub("", text) if gaps > 1 and gaps >= len(_WIDE_PAIR.findall(text)) else text


def _split(rows: list[Row]) -> list[Block]:
    """A heading that PyMuPDF took into the paragraph below is a block of its own: larger, or bold before plain text."""
    blocks = [Block([rows[0]])]
    for before, row in pairwise(rows):
        larger, smaller = max(before.size, row.size), max(min(before.size, row.size), 0.1)
        ends_bold = before.is_bold and not row.is_bold and len(blocks[-1].rows) <= 2
        if larger / smaller > 1.15 or (ends_bold and all(item.is_bold for item in blocks[-1].rows)):
            blocks.append(Block([]))
        blocks[-1].rows.append(row)
    return blocks


def merged(blocks: list[Block]) -> list[Block]:
    """Blocks in reading order, neighbours of the same type put together where the next row stands one line below.

    Wide line spacing makes PyMuPDF take each line for a block.
    """
    rows = [row for block in blocks for row in block.rows]
    steps = Counter(
        round(b.y0 - a.y0) for a, b in pairwise(rows) if _same_type(a, b) and 0 < b.y0 - a.y0 < _MAX_LINE_STEP * b.size
    )
    step = steps.most_common(1)[0][0] if steps else 0
    out: list[Block] = []
    for block in blocks:
        before = out[-1].rows[-1] if out else None
        first = block.rows[0]
        if (
            before
            and block.flow == out[-1].flow == "across"
            and _same_type(before, first)
            and abs(first.y0 - before.y0 - step) <= 0.12 * step + 0.5
            and min(out[-1].x1, block.x1) - max(out[-1].x0, block.x0) > 0
        ):
            out[-1] = Block(out[-1].rows + block.rows)
        else:
            out.append(block)
    return out


def _same_type(a: Row, b: Row) -> bool:
    return a.is_bold == b.is_bold and abs(a.size - b.size) < 0.05 * b.size


def is_right_to_left(blocks: list[Block]) -> bool:
    """Whether columns follow each other leftwards: mostly Hebrew or Arabic, or vertical Japanese."""
    if sum(block.flow == "down" for block in blocks) > len(blocks) / 2:
        return True
    text = "".join(row.text for block in blocks for row in block.rows)
    return 2 * len(_RTL.findall(text)) > sum(map(str.isalpha, text))
