"""Reading order of a page by cutting it along its white space: bands from top to bottom, columns inside them.

After Nagy and Seth's recursive XY-cut (1984), with one rule added: neighbouring bands that share a gutter between two
columns of prose are one region, so that a blank line at the same height in both columns doesn't interleave them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from core.parsers.pdf.rows import Block

_GUTTER_POINTS = 6.0
_COLUMN_CHARS = 18  # rows of prose are longer on average, cells of a table shorter
_COLUMN_ROWS = 3
_MAX_DEPTH = 12


def in_reading_order(blocks: Sequence[Block], *, right_to_left: bool = False) -> list[Block]:
    """The same blocks, reordered. Blocks that overlap both ways keep the order of the file."""
    aside = [block for block in blocks if block.flow == "aside"]
    place = {id(block): index for index, block in enumerate(blocks)}
    return _ordered([block for block in blocks if block.flow != "aside"], right_to_left, place, 0) + aside


def _ordered(blocks: list[Block], right_to_left: bool, place: Mapping[int, int], depth: int) -> list[Block]:
    if len(blocks) < 2 or depth > _MAX_DEPTH:
        return blocks
    bands = _groups(blocks, lambda block: block.y0, lambda block: block.y1, 0.0)
    if len(bands) == 1:
        columns = _columns(blocks)
        if len(columns) == 1:
            return blocks
        if right_to_left:
            columns.reverse()
        return [block for column in columns for block in _ordered(column, right_to_left, place, depth + 1)]
    regions: list[list[Block]] = []
    for band in bands:
        if regions and _are_columns(regions[-1] + band, place):
            regions[-1] = regions[-1] + band
        else:
            regions.append(band)
    ordered: list[Block] = []
    for region in regions:
        if _are_columns(region, place):
            columns = _columns(region)
            columns = columns[::-1] if right_to_left else columns
            for column in columns:
                ordered += _ordered(column, right_to_left, place, depth + 1)
        else:
            ordered += _ordered(region, right_to_left, place, depth + 1)
    return ordered


def _columns(blocks: list[Block]) -> list[list[Block]]:
    return _groups(blocks, lambda block: block.x0, lambda block: block.x1, _GUTTER_POINTS)


def _groups(
    blocks: list[Block], start: Callable[[Block], float], end: Callable[[Block], float], gap: float
) -> list[list[Block]]:
    """Blocks whose extents touch, or are closer than `gap`, are one group; groups by their position."""
    groups: list[list[Block]] = []
    reach = 0.0
    for block in sorted(blocks, key=start):
        if groups and start(block) < reach + gap - 0.01:
            groups[-1].append(block)
            reach = max(reach, end(block))
        else:
            groups.append([block])
            reach = end(block)
    order = {id(block): index for index, block in enumerate(blocks)}
    return [sorted(group, key=lambda block: order[id(block)]) for group in groups]


def _are_columns(blocks: list[Block], place: Mapping[int, int]) -> bool:
    """Long rows on both sides; shorter and fewer ones do where the file itself finishes one column before the next."""
    columns = _columns(blocks)
    if len(columns) < 2:
        return False
    least_rows, least_chars = (2, 12) if _are_apart(columns, place) else (_COLUMN_ROWS, _COLUMN_CHARS)
    for column in columns:
        rows = [row for block in column for row in block.rows]
        if len(rows) < least_rows or sum(len(row.text) for row in rows) / len(rows) < least_chars:
            return False
    return True


def _are_apart(columns: list[list[Block]], place: Mapping[int, int]) -> bool:
    ends = [
        (min(place[id(block)] for block in column), max(place[id(block)] for block in column)) for column in columns
    ]
    return all(before[1] < after[0] for before, after in pairwise(ends))
