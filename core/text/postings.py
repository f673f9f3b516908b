"""BM25 over postings in memory: which segment holds which term how often, in numpy arrays.

    postings = Postings.of([(1, ["red", "pump"]), (2, ["pump", "pump"])])
    postings.score(["red"]).bm25   [0.69…, 0.0]

A `Postings` is a snapshot that never changes; `updated` makes the next one. Numbers of segments are the caller's; this
knows nothing of where they are kept.

Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009: https://doi.org/10.1561/1500000019
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Shorter saturation and weaker length correction than 1.2 and 0.75: segments are of one length already. Measured best
# on English questions and Japanese ones; also the default of Anserini.
K1 = 0.9
B = 0.4
# The newest segments lie in a small block of their own; it joins the large one when it is this share of it.
_RECENT_SHARE = 0.25
_RECENT_LEAST = 1000


@dataclass(frozen=True)
class Block:
    """Postings sorted by term, then row. Term t is in `rows[starts[t]:starts[t + 1]]`, `counts` times each.

    ids     int64, ascending: the segment of each row
    lengths int32: terms of each row, repetitions counted
    starts  int64, one more than terms were known
    rows    int32; counts: uint16
    """

    ids: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    counts: np.ndarray

    def of_term(self, term: int) -> slice:
        if term >= len(self.starts) - 1:
            return slice(0, 0)
        return slice(self.starts[term], self.starts[term + 1])

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Rows of those ids that are here."""
        places = np.searchsorted(self.ids, ids)
        places = places[places < len(self.ids)]
        return places[np.isin(self.ids[places], ids)]


@dataclass(frozen=True)
class Scores:
    """One number per segment of the snapshot, in the order of `Postings.ids`, float64.

    bm25      0 where it holds none of the terms
    coverage  share of the terms held, weighted by their rarity, 0 to 1
    most      the bm25 that a segment full of every term would come close to
    rarity    of each term that counted: its inverse document frequency
    """

    bm25: np.ndarray
    coverage: np.ndarray
    most: float
    rarity: Mapping[str, float]


@dataclass(frozen=True)
class Postings:
    """A snapshot. `ids`: int64, one per row; `is_alive`: False for segments that are gone and still lie in a block."""

    vocabulary: dict[str, int]
    blocks: tuple[Block, Block]  # the large one, the recent one
    is_alive: np.ndarray

    @classmethod
    def of(cls, segments: Iterable[tuple[int, Sequence[str]]]) -> Postings:
        vocabulary: dict[str, int] = {}
        large, empty = _build(segments, vocabulary), _build((), vocabulary)
        return cls(vocabulary, (large, empty), np.ones(len(large.ids), dtype=bool))

    @property
    def ids(self) -> np.ndarray:
        return np.concatenate([block.ids for block in self.blocks])

    @property
    def size(self) -> int:
        return int(self.is_alive.sum())

    def updated(self, changed: Mapping[int, Sequence[str]], removed: Collection[int]) -> Postings:
        """The next snapshot: `changed` segments new or replaced, `removed` ones gone."""
        gone = np.array(sorted({*changed, *removed}), dtype=np.int64)
        large, recent = self.blocks
        is_alive = self.is_alive.copy()
        is_alive[large.find(gone)] = False
        is_alive[len(large.ids) + recent.find(gone)] = False
        recent = _merge(
            [recent, _build(sorted(changed.items()), self.vocabulary)],
            [is_alive[len(large.ids) :], np.ones(len(changed), dtype=bool)],
            len(self.vocabulary),
        )
        is_alive = is_alive[: len(large.ids)]
        if len(recent.ids) > max(_RECENT_LEAST, _RECENT_SHARE * len(large.ids)):
            large = _merge([large, recent], [is_alive, np.ones(len(recent.ids), dtype=bool)], len(self.vocabulary))
            recent = _build((), self.vocabulary)
            is_alive = np.ones(len(large.ids), dtype=bool)
        return Postings(self.vocabulary, (large, recent), np.append(is_alive, np.ones(len(recent.ids), dtype=bool)))

    def holders(self, term: str) -> np.ndarray:
        """Rows of the living segments that hold a term, ascending."""
        return self._occurrences(term)[0]

    def score(self, terms: Sequence[str], *, optional: Collection[str] = ()) -> Scores:
        """BM25 of every segment for any of the terms; a term that is named twice counts twice.

        `optional` terms count where they are found and are not missed elsewhere.
        """
        lengths = np.concatenate([block.lengths for block in self.blocks]).astype(np.float64)
        average = lengths[self.is_alive].mean() if self.size else 1.0
        norms = K1 * (1 - B + B * lengths / max(average, 1.0))
        bm25, covered = np.zeros(len(lengths)), np.zeros(len(lengths))
        most = 0.0
        rarities: dict[str, float] = {}
        for term, times in Counter(terms).items():
            rows, counts = self._occurrences(term)
            if not len(rows) and term in optional:
                continue
            # Lucene's form, never negative: a word in most of the segments counts little, not against them.
            rarity = np.log(1 + (self.size - len(rows) + 0.5) / (len(rows) + 0.5))
            bm25[rows] += times * rarity * counts * (K1 + 1) / (counts + norms[rows])
            covered[rows] += rarity
            most += times * rarity * (K1 + 1)
            rarities[term] = float(rarity)
        return Scores(bm25, covered / (sum(rarities.values()) or 1.0), float(most), rarities)

    def _occurrences(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        number = self.vocabulary.get(term)
        if number is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        large, recent = self.blocks
        first, second = large.of_term(number), recent.of_term(number)
        rows = np.concatenate([large.rows[first].astype(np.int64), recent.rows[second] + len(large.ids)])
        counts = np.concatenate([large.counts[first], recent.counts[second]]).astype(np.float64)
        living = self.is_alive[rows]
        return rows[living], counts[living]


def _build(segments: Iterable[tuple[int, Sequence[str]]], vocabulary: dict[str, int]) -> Block:
    """Segments by ascending id. Unknown terms are added to the vocabulary."""
    ids: list[int] = []
    lengths: list[int] = []
    numbers: list[np.ndarray] = []
    for id, terms in segments:
        ids.append(id)
        lengths.append(len(terms))
        numbers.append(
            np.fromiter((vocabulary.setdefault(term, len(vocabulary)) for term in terms), np.int64, len(terms))
        )
    rows = np.repeat(np.arange(len(ids), dtype=np.int64), lengths)
    # One number per (term, row): sorting it sorts by term, then row, and equal ones lie together.
    keys = (np.concatenate(numbers) if numbers else np.zeros(0, np.int64)) * max(len(ids), 1) + rows
    keys, counts = np.unique(keys, return_counts=True)
    terms_of_keys, rows_of_keys = np.divmod(keys, max(len(ids), 1))
    return Block(
        np.array(ids, dtype=np.int64),
        np.array(lengths, dtype=np.int32),
        np.searchsorted(terms_of_keys, np.arange(len(vocabulary) + 1)),
        rows_of_keys.astype(np.int32),
        np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16),
    )


def _merge(blocks: Sequence[Block], living: Sequence[np.ndarray], terms: int) -> Block:
    """The living rows of several blocks as one, ordered by id."""
    ids = np.concatenate([block.ids[alive] for block, alive in zip(blocks, living, strict=True)])
    lengths = np.concatenate([block.lengths[alive] for block, alive in zip(blocks, living, strict=True)])
    order = np.argsort(ids, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    all_terms, all_rows, all_counts, before = [], [], [], 0
    for block, alive in zip(blocks, living, strict=True):
        kept = alive[block.rows]
        new_row = np.zeros(len(alive), dtype=np.int64)
        new_row[alive] = place[before : before + int(alive.sum())]
        all_terms.append(np.repeat(np.arange(len(block.starts) - 1), np.diff(block.starts))[kept])
        all_rows.append(new_row[block.rows[kept]])
        all_counts.append(block.counts[kept])
        before += int(alive.sum())
    numbers, rows = np.concatenate(all_terms), np.concatenate(all_rows)
    by_term = np.lexsort((rows, numbers))
    return Block(
        ids[order],
        lengths[order],
        np.searchsorted(numbers[by_term], np.arange(terms + 1)),
        rows[by_term].astype(np.int32),
        np.concatenate(all_counts)[by_term],
    )
