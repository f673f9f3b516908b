"""Rows and blocks: what a page's layout is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass
class Row:
    """What stands on one line of the page; lengths in points, y grows downwards."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_bold: bool = False
    cells: int = 1


@dataclass
class Block:
    """`flow`: "across" the page as usual, "down" as in vertical Japanese, "aside" for text turned on its side."""

    rows: list[Row]
    flow: Literal["across", "down", "aside"] = "across"

    @property
    def x0(self) -> float:
        return min(row.x0 for row in self.rows)

    @property
    def x1(self) -> float:
        return max(row.x1 for row in self.rows)

    @property
    def y0(self) -> float:
        return min(row.y0 for row in self.rows)

    @property
    def y1(self) -> float:
        return max(row.y1 for row in self.rows)
