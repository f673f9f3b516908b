"""Postings as arrays: which row holds which term how often. How blocks are made of segments, and one of several.

Nothing here scores, and nothing knows where segments are kept; see `postings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

# Built and merged in pieces of this size, so that the memory needed meanwhile doesn't grow with the library.
_SEGMENTS_AT_ONCE = 4_000
_POSTINGS_AT_ONCE = 4_000_000
MOST_COUNTED = np.iinfo(np.uint8).max  # more repetitions add nothing to a score


@dataclass(frozen=True)
class Block:
    """Postings sorted by term, then row. Term `terms[i]` is in `rows[starts[i]:starts[i + 1]]`, `counts` times each.

    ids       int64, ascending: the segment of each row
    lengths   int32: terms of each row, repetitions counted
    is_alive  bool: False for a row whose segment is gone, or has a newer row in another block
    terms     int32, ascending: numbers of the terms that are here
    starts    int64, one more than terms
    rows      int32; counts: uint8
    """

    ids: np.ndarray
    lengths: np.ndarray
    is_alive: np.ndarray
    terms: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    counts: np.ndarray

    @property
    def living(self) -> int:
        return int(np.count_nonzero(self.is_alive))

    def of_term(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows that are alive, ascending; how often each holds the term)."""
        place = int(np.searchsorted(self.terms, term))
        if place == len(self.terms) or self.terms[place] != term:
            return self.rows[:0], self.counts[:0]
        found = slice(self.starts[place], self.starts[place + 1])
        rows, counts = self.rows[found], self.counts[found]
        alive = self.is_alive[rows]
        return (rows, counts) if alive.all() else (rows[alive], counts[alive])

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Rows of those of the segments that are here and alive, ascending. ids: int64, ascending."""
        places = np.searchsorted(self.ids, ids)
        inside = places < len(self.ids)
        rows = places[inside][self.ids[places[inside]] == ids[inside]]
        return rows[self.is_alive[rows]]

    def without(self, ids: np.ndarray) -> Block:
        """The same block with those of the segments dead that are here. ids: int64, ascending."""
        rows = self.rows_of(ids)
        if not len(rows):
            return self
        is_alive = self.is_alive.copy()
        is_alive[rows] = False
        return replace(self, is_alive=is_alive)


def block_of(segments: Iterable[tuple[int, Sequence[str]]], number_of: Callable[[str], int]) -> Block:
    """A block of segments: (id, terms), by ascending id. number_of: gives every term its number."""
    pieces = [_piece(piece, number_of) for piece in _in_pieces(segments)]
    return pieces[0] if len(pieces) == 1 else merged(pieces)


def merged(blocks: Sequence[Block]) -> Block:
    """The living rows of several blocks as one, ordered by id."""
    ids = np.concatenate([_EMPTY.ids, *(block.ids[block.is_alive] for block in blocks)])
    lengths = np.concatenate([_EMPTY.lengths, *(block.lengths[block.is_alive] for block in blocks)])
    order = np.argsort(ids, kind="stable")
    new_rows = _new_rows(blocks, order)
    found = [_EMPTY_POSTINGS, *(_sorted_keys(blocks, new_rows, *span) for span in _spans(blocks))]
    keys, counts = (np.concatenate([piece[side] for piece in found]) for side in (0, 1))
    del found
    terms, rows = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    del keys
    firsts = np.flatnonzero(np.diff(terms, prepend=-1))
    starts = np.append(firsts, len(terms)).astype(np.int64)
    return Block(ids[order], lengths[order], np.ones(len(ids), dtype=bool), terms[firsts], starts, rows, counts)


def _piece(segments: Sequence[tuple[int, Sequence[str]]], number_of: Callable[[str], int]) -> Block:
    lengths = np.fromiter((len(terms) for _, terms in segments), np.int32, len(segments))
    total = int(lengths.sum(dtype=np.int64))
    numbers = np.fromiter(map(number_of, chain.from_iterable(terms for _, terms in segments)), np.int64, total)
    # One number per (term, row): sorting it sorts by term, then row, and equal ones lie together.
    keys = (numbers << 32) | np.repeat(np.arange(len(segments)), lengths)
    keys.sort()
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.minimum(np.diff(np.append(firsts, total)), MOST_COUNTED).astype(np.uint8)
    keys = keys[firsts]
    terms = (keys >> 32).astype(np.int32)
    begins = np.flatnonzero(np.diff(terms, prepend=-1))
    return Block(
        np.fromiter((id for id, _ in segments), np.int64, len(segments)),
        lengths,
        np.ones(len(segments), dtype=bool),
        terms[begins],
        np.append(begins, len(keys)).astype(np.int64),
        keys.astype(np.int32),
        counts,
    )


def _in_pieces(segments: Iterable[tuple[int, Sequence[str]]]) -> Iterator[list[tuple[int, Sequence[str]]]]:
    rest = iter(segments)
    while piece := list(islice(rest, _SEGMENTS_AT_ONCE)):
        yield piece


def _new_rows(blocks: Sequence[Block], order: np.ndarray) -> list[np.ndarray]:
    """For each block: the row in the merged one of each of its rows. Ascending, since ids are in every block."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    new_rows, before = [], 0
    for block in blocks:
        new = np.zeros(len(block.ids), dtype=np.int64)
        new[block.is_alive] = places[before : before + block.living]
        new_rows.append(new)
        before += block.living
    return new_rows


def _spans(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Ranges of term numbers, end excluded, that have about so many postings as are merged at once."""
    terms, places = np.unique(np.concatenate([_EMPTY.terms, *(block.terms for block in blocks)]), return_inverse=True)
    sizes = np.bincount(
        places, weights=np.concatenate([[], *(np.diff(block.starts) for block in blocks)]), minlength=len(terms)
    )
    group = (np.cumsum(sizes) // _POSTINGS_AT_ONCE).astype(np.int64)
    firsts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = [*terms[firsts[1:]].tolist(), int(terms[-1]) + 1 if len(terms) else 0]
    return zip(terms[firsts].tolist(), ends, strict=False)


def _sorted_keys(
    blocks: Sequence[Block], new_rows: Sequence[np.ndarray], first: int, end: int
) -> tuple[np.ndarray, np.ndarray]:
    """(term << 32 | new row, ascending; counts) of the living postings whose term is in the range."""
    keys, counts = [], []
    for block, new in zip(blocks, new_rows, strict=True):
        low, high = np.searchsorted(block.terms, (first, end))
        span = slice(block.starts[low], block.starts[high])
        rows = block.rows[span]
        alive = block.is_alive[rows]
        terms = np.repeat(block.terms[low:high].astype(np.int64), np.diff(block.starts[low : high + 1]))
        keys.append(((terms << 32) | new[rows])[alive])
        counts.append(block.counts[span][alive])
    joined = np.concatenate(keys)
    # A stable sort takes runs that are in order as they are: this is a merge, not a sort.
    order = np.argsort(joined, kind="stable")
    return joined[order], np.concatenate(counts)[order]


_EMPTY = Block(
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=bool),
    np.zeros(0, dtype=np.int32),
    np.zeros(1, dtype=np.int64),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.uint8),
)
_EMPTY_POSTINGS = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8))
