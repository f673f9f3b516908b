"""Rows of a sheet or CSV as lines that explain themselves: "sensor: alpha, value: 3,5". Used by csv and xlsx."""

from __future__ import annotations

from collections.abc import Sequence

from core.text.builder import TextBuilder


def row_line(header: Sequence[str] | None, cells: Sequence[str]) -> str:
    """`row_line(["a", ""], ["1", "2"])` gives "a: 1, column 2: 2". Blank cells are left out.

    Without a header, and in a table of one column, the values stand alone.
    """
    values = [" ".join(cell.split()) for cell in cells]
    if header is None or len(header) < 2:
        return ", ".join(filter(None, values))
    return ", ".join(f"{_name(header, column)}: {value}" for column, value in enumerate(values) if value)


def append_row(builder: TextBuilder, number: int, line: str) -> None:
    """One line, marked with the number of the row as the program that made the file counts it, from 1."""
    if line:
        builder.new_line()
        with builder.mark("rows", number):
            builder.append(line)


def looks_like_header(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """All filled cells are words, none a number, and there are nearly as many as in the rows that follow."""
    filled = [cell.strip() for cell in row if cell.strip()]
    if not filled or any(_is_number(cell) for cell in filled) or len(set(filled)) < len(filled):
        return False
    widths = [sum(bool(cell.strip()) for cell in other) for other in following]
    return not widths or len(filled) >= 0.6 * max(widths)


def _name(header: Sequence[str], column: int) -> str:
    name = " ".join(header[column].split()) if column < len(header) else ""
    return name or f"column {column + 1}"


def _is_number(text: str) -> bool:
    digits = sum(char.isdigit() for char in text)
    # "2031-03-04", "7.5%", "€ 1.200,50" are values; "Q1", "2024 (plan)" may be names.
    return digits > 0 and not any(char.isalpha() for char in text)
