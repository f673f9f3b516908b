"""Rows as a plain table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.services.rows import Row


def table(found: Sequence[Row], *columns: str) -> str:
    """One line a row, each column as wide as its widest cell; nothing is shown as a dash.

    `table([{"id": 1, "name": "a"}], "id", "name")` gives "id  name\\n1   a".
    """
    lines = [list(columns), *([_cell(row[column]) for column in columns] for row in found)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
