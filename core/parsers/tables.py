"""Rows of cells as a Markdown table, the form in which every parser writes tables."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """`markdown_table([["a", "b"], ["1", "2"]])` gives "| a | b |\\n| --- | --- |\\n| 1 | 2 |".

    The first row is the header. Rows without text are left out, short ones filled up; a pipe in a cell is escaped.
    """
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = [_line([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], _line(["---"] * width), *lines[1:]])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
