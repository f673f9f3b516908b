"""An HTML table: is it data or page layout, and its rows as a grid."""

from __future__ import annotations

from bs4.element import Tag

from core.parsers.html.inline import flat_text

_MAX_SPAN = 100  # a colspan of a billion is a joke of the page's author, not a table
_BLOCKS = ["p", "div", "ul", "ol", "h1", "h2", "h3", "h4", "article", "section", "form"]


def is_layout(table: Tag) -> bool:
    """Without header cells and with blocks or tables inside its cells, or of a single row or column: page layout."""
    if table.get("role") in ("presentation", "none"):
        return True
    rows = own_rows(table)
    if any(cell.name == "th" for row in rows for cell in _cells(row)):
        return False
    if len(rows) < 2 or max(len(_cells(row)) for row in rows) < 2:
        return True
    return any(len(cell.find_all(_BLOCKS, limit=3)) > 2 or cell.find("table") for row in rows for cell in _cells(row))


def own_rows(table: Tag) -> list[Tag]:
    """The rows of this table, not of those inside it."""
    rows = []
    for child in table.find_all(["tr", "thead", "tbody", "tfoot"], recursive=False):
        rows += [child] if child.name == "tr" else child.find_all("tr", recursive=False)
    return rows


def grid(table: Tag, hidden: list[str]) -> list[list[str]]:
    """Rows of cell texts. A cell that spans columns stands once; one that spans rows is repeated in each of them."""
    rows: list[list[str]] = []
    carried: dict[int, tuple[str, int]] = {}
    for row in own_rows(table):
        texts: list[str] = []

        def fill(texts: list[str] = texts) -> None:
            while len(texts) in carried:
                text, left = carried.pop(len(texts))
                if left > 1:
                    carried[len(texts)] = (text, left - 1)
                texts.append(text)

        for cell in _cells(row):
            fill()
            text = flat_text(cell, hidden)
            columns, down = _span(cell, "colspan"), _span(cell, "rowspan")
            for extra in range(columns):
                if down > 1:
                    carried[len(texts)] = ("" if extra else text, down - 1)
                texts.append("" if extra else text)
        fill()
        rows.append(texts)
    return rows


def _cells(row: Tag) -> list[Tag]:
    return row.find_all(["td", "th"], recursive=False)


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name, "1")).strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() else 1
