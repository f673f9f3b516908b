"""Two columns that the file draws line by line across the page: PyMuPDF takes such a line for one block."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from core.parsers.pdf.rows import Row

_MIN_LINES = 3
_MIN_CHARS = 12
_MIN_GAP = 0.8  # font sizes


def split_at_gutter(blocks: list[list[Row]]) -> list[list[Row]]:
    """Blocks of pieces; those with pieces on both sides of the page's gutter come back as two.

    There is a gutter where at least three lines have a gap between two long pieces at the same place, and not more
    pieces run across it.
    """
    gaps = [gap for pieces in blocks for gap in _gaps(pieces)]
    places = sorted({right for _, right in gaps})
    counts = [(sum(left < place <= right for left, right in gaps), place) for place in places]
    count, place = max(counts, default=(0, 0.0))
    across = sum(piece.x0 < place - 1 and piece.x1 > place for pieces in blocks for piece in pieces)
    if count < _MIN_LINES or across > count:
        return blocks
    out: list[list[Row]] = []
    for pieces in blocks:
        if any(left < place <= right for left, right in _gaps(pieces)):
            out += [[piece for piece in pieces if piece.x0 < place], [piece for piece in pieces if piece.x0 >= place]]
        else:
            out.append(pieces)
    return [pieces for pieces in out if pieces]


def _gaps(pieces: list[Row]) -> Iterable[tuple[float, float]]:
    for a, b in pairwise(pieces):
        is_beside = min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5 * min(a.y1 - a.y0, b.y1 - b.y0)
        is_long = min(len(a.text.strip()), len(b.text.strip())) >= _MIN_CHARS
        if is_beside and is_long and b.x0 - a.x1 > _MIN_GAP * b.size:
            yield a.x1, b.x0
