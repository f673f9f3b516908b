"""A Word table as rows of cell texts; a merged cell stands once."""

from __future__ import annotations

from core.parsers.docx.names import W, value
from core.parsers.docx.runs import Counts, Paragraph, read_paragraph

LONG_CELL_CHARS = 1500
_MAX_SPAN = 63  # Word's own limit of columns


def table_rows(table, counts: Counts, notes: list[Paragraph]) -> list[list[str]]:
    """`notes` gets the paragraphs, whose boxes, notes and comments stand behind the table."""
    return [_cells(row, counts, notes) for row in _children(table, "tr")]


def is_layout(table) -> bool:
    """One cell in a row, or cells as long as pages: a frame around text, not a table."""
    rows = _children(table, "tr")
    if all(len(_children(row, "tc")) < 2 for row in rows):
        return True
    return any(
        sum(len(text.text or "") for text in cell.iter(f"{W}t")) > LONG_CELL_CHARS
        for row in rows
        for cell in _children(row, "tc")
    )


def cells_of(table) -> list:
    return [cell for row in _children(table, "tr") for cell in _children(row, "tc")]


def _cells(row, counts: Counts, notes: list[Paragraph]) -> list[str]:
    before = value(row, "trPr/gridBefore") or "0"
    texts = [""] * min(int(before) if before.isdecimal() else 0, _MAX_SPAN)
    for cell in _children(row, "tc"):
        properties = cell.find(f"{W}tcPr")
        merged = properties.find(f"{W}vMerge") if properties is not None else None
        continues = merged is not None and merged.get(f"{W}val", "continue") == "continue"
        # hMerge is the older way to merge cells of a row.
        continues = continues or value(properties, "hMerge") == "continue"
        texts.append("" if continues else _cell_text(cell, counts, notes))
        span = value(properties, "gridSpan") or "1"
        texts += [""] * (min(int(span) if span.isdecimal() else 1, _MAX_SPAN) - 1)
    return texts


def _cell_text(element, counts: Counts, notes: list[Paragraph]) -> str:
    parts = []
    for child in element:
        if child.tag == f"{W}p":
            paragraph = read_paragraph(child, counts)
            notes.append(paragraph)
            parts.append(" ".join(paragraph.text.split()))
        elif child.tag == f"{W}tbl":
            rows = table_rows(child, counts, notes)
            parts.append("; ".join(" ".join(filter(None, row)) for row in rows if any(row)))
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            parts.append(_cell_text(child, counts, notes))
    return " ".join(filter(None, parts))


def _children(element, name: str) -> list:
    """Rows or cells, those in content controls and tracked insertions too; deleted ones not."""
    found = []
    for child in element:
        if child.tag == W + name:
            if name != "tr" or child.find(f"{W}trPr/{W}del") is None:
                found.append(child)
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            found += _children(child, name)
    return found
