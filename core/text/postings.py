"""BM25 over postings in memory: which segment holds which term how often, in numpy arrays.

    postings = Postings.of([(1, ["red", "pump"]), (2, ["pump", "pump"])])
    postings.best(["red"], 5)                   rows of the best: [0]
    postings.scores_of(["red"], [0, 1]).bm25    [0.69…, 0.0]

A `Postings` is a snapshot that never changes; `updated` makes the next one. Numbers of segments are the caller's; this
knows nothing of where they are kept.

Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009: https://doi.org/10.1561/1500000019
Terms that can't bring a new segment among the best are looked up in the good ones only, after Turtle and Flood, Query
Evaluation: Strategies and Optimizations, 1995 (MaxScore): https://doi.org/10.1016/0306-4573(95)00020-H
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.text.postings_blocks import Block, block_of, merged

# Shorter saturation and weaker length correction than 1.2 and 0.75: segments are of one length already. Measured best
# on English questions and Japanese ones; also the default of Anserini.
K1 = 0.9
B = 0.4
# A newer block joins the one before it when it has this share of its segments: few blocks, and little written twice.
_JOINING_SHARE = 0.25
_MOST_BLOCKS = 8
# Of a term in fewer segments it costs more to find out that it can't bring a new one than to add it up.
_WORTH_A_LOOK = 2_000


@dataclass(frozen=True)
class Scores:
    """What the terms are worth in some rows, in the order they were named, float64.

    bm25      0 where it holds none of the terms
    coverage  share of the terms held, weighted by their rarity, 0 to 1
    most      the bm25 that a segment full of every term would come close to
    rarity    of each term that counted: its inverse document frequency
    held_by   of each term that counted: bool, which of the rows hold it
    """

    bm25: np.ndarray
    coverage: np.ndarray
    most: float
    rarity: Mapping[str, float]
    held_by: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class _Weighed:
    """A term of a query with its postings, one pair (rows, counts) a block."""

    term: str
    times: int
    rarity: float
    held: list[tuple[np.ndarray, np.ndarray]]

    @property
    def size(self) -> int:
        return sum(len(rows) for rows, _ in self.held)

    @property
    def most(self) -> float:
        return self.times * self.rarity * (K1 + 1)


@dataclass(frozen=True)
class Postings:
    """A snapshot: rows of all blocks are counted through, the oldest block first.

    vocabulary  number of each term; shared by all snapshots, and only ever added to
    """

    vocabulary: defaultdict[str, int]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, segments: Iterable[tuple[int, Sequence[str]]]) -> Postings:
        """segments: (id, terms), by ascending id."""
        vocabulary = numbered_terms(())
        return cls(vocabulary, (block_of(segments, vocabulary.__getitem__),))

    @cached_property
    def ids(self) -> np.ndarray:
        """The segment of each row, int64."""
        return np.concatenate([block.ids for block in self.blocks])

    @cached_property
    def is_alive(self) -> np.ndarray:
        """False for rows whose segment is gone and that still lie in a block."""
        return np.concatenate([block.is_alive for block in self.blocks])

    @cached_property
    def size(self) -> int:
        return sum(block.living for block in self.blocks)

    def updated(self, changed: Mapping[int, Sequence[str]], removed: Collection[int]) -> Postings:
        """The next snapshot: `changed` segments new or replaced, `removed` ones gone."""
        gone = np.array(sorted({*changed, *removed}), dtype=np.int64)
        blocks = [block.without(gone) for block in self.blocks]
        if changed:
            blocks.append(block_of(sorted(changed.items()), self.vocabulary.__getitem__))
        return Postings(self.vocabulary, tuple(_joined(blocks)))

    def compact(self) -> Postings:
        """The same in one block, without dead rows: as it's written to a file."""
        if len(self.blocks) == 1 and self.blocks[0].is_alive.all():
            return self
        return Postings(self.vocabulary, (merged(self.blocks),))

    def rows_of(self, ids: Collection[int]) -> np.ndarray:
        """Rows of the living segments among the ids, ascending."""
        wanted = np.array(sorted(ids), dtype=np.int64)
        return np.concatenate(
            [first + block.rows_of(wanted) for first, block in zip(self._firsts, self.blocks, strict=True)]
        )

    def best(
        self,
        terms: Sequence[str],
        limit: int,
        *,
        optional: Collection[str] = (),
        allowed: np.ndarray | None = None,
    ) -> np.ndarray:
        """Rows with the highest BM25 above 0 for any of the terms, best first; equal ones in the order of their rows.

        allowed  bool, one per row, or None for all
        """
        weighed = self._weighed(terms, optional)
        rest = np.cumsum([term.most for term in weighed][::-1])[::-1]
        bm25 = np.zeros(len(self.ids))
        for number, term in enumerate(weighed):
            if number and term.size >= _WORTH_A_LOOK:
                rows = _within_reach(bm25, allowed, limit, rest[number])
                if rows is not None:
                    return _highest(rows, self._completed(bm25[rows], rows, weighed[number:]), limit)
            for (rows, counts), first in zip(term.held, self._firsts, strict=True):
                here = rows.astype(np.int64) + first
                bm25[here] += self._worth(term, here, counts)
        rows = np.flatnonzero(bm25 if allowed is None else (bm25 > 0) & allowed)
        return _highest(rows, bm25[rows], limit)

    def scores_of(self, terms: Sequence[str], rows: np.ndarray, *, optional: Collection[str] = ()) -> Scores:
        """The numbers of some rows; a term that is named twice counts twice.

        `optional` terms count where they are found anywhere and are not missed elsewhere.
        """
        rows = np.asarray(rows, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        bm25, covered = np.zeros(len(rows)), np.zeros(len(rows))
        weighed = self._weighed(terms, optional)
        held_by: dict[str, np.ndarray] = {}
        for term in weighed:
            places, counts = self._found(term, ascending)
            here = order[places]
            bm25[here] += self._worth(term, rows[here], counts)
            covered[here] += term.rarity
            held_by[term.term] = np.zeros(len(rows), dtype=bool)
            held_by[term.term][here] = True
        rarity = {term.term: term.rarity for term in weighed}
        return Scores(
            bm25, covered / (sum(rarity.values()) or 1.0), sum(term.most for term in weighed), rarity, held_by
        )

    @cached_property
    def _firsts(self) -> list[int]:
        """The first row of each block."""
        return np.cumsum([0, *(len(block.ids) for block in self.blocks)])[:-1].tolist()

    @cached_property
    def _norms(self) -> np.ndarray:
        lengths = np.concatenate([block.lengths for block in self.blocks]).astype(np.float64)
        average = lengths[self.is_alive].mean() if self.size else 1.0
        return K1 * (1 - B + B * lengths / max(average, 1.0))

    def _weighed(self, terms: Sequence[str], optional: Collection[str]) -> list[_Weighed]:
        """The terms that count, the most valuable first."""
        weighed = []
        for term, times in Counter(terms).items():
            number = self.vocabulary.get(term, -1)
            held = [block.of_term(number) for block in self.blocks]
            size = sum(len(rows) for rows, _ in held)
            if not size and term in optional:
                continue
            # Lucene's form, never negative: a word in most of the segments counts little, not against them.
            rarity = float(np.log(1 + (self.size - size + 0.5) / (size + 0.5)))
            weighed.append(_Weighed(term, times, rarity, held))
        return sorted(weighed, key=lambda term: -term.most)

    def _worth(self, term: _Weighed, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
        counts = counts.astype(np.float64)
        return term.times * term.rarity * counts * (K1 + 1) / (counts + self._norms[rows])

    def _found(self, term: _Weighed, ascending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(places in `ascending` whose row holds the term, how often)."""
        all_places, all_counts = [], []
        for (rows, counts), first, block in zip(term.held, self._firsts, self.blocks, strict=True):
            low, high = np.searchsorted(ascending, (first, first + len(block.ids)))
            wanted = (ascending[low:high] - first).astype(np.int32)
            places = np.searchsorted(rows, wanted)
            places[places == len(rows)] = 0
            holds = rows[places] == wanted if len(rows) else np.zeros(len(wanted), dtype=bool)
            all_places.append(low + np.flatnonzero(holds))
            all_counts.append(counts[places[holds]])
        return np.concatenate(all_places), np.concatenate(all_counts)

    def _completed(self, bm25: np.ndarray, rows: np.ndarray, weighed: Sequence[_Weighed]) -> np.ndarray:
        for term in weighed:
            places, counts = self._found(term, rows)
            bm25[places] += self._worth(term, rows[places], counts)
        return bm25


def numbered_terms(terms: Iterable[str]) -> defaultdict[str, int]:
    """term -> its number, 0, 1, 2 …; a term that is asked for by [] gets the next one, by get() none."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.update((term, number) for number, term in enumerate(terms))
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def _joined(blocks: list[Block]) -> list[Block]:
    blocks = [block for block in blocks if block.living] or blocks[:1]
    while len(blocks) > 1:
        before, last = blocks[-2].living, blocks[-1].living
        if last < _JOINING_SHARE * before and len(blocks) <= _MOST_BLOCKS:
            break
        blocks[-2:] = [merged(blocks[-2:])]
    # Mostly dead rows: the room they take is worth more than what it costs to be rid of them.
    return [merged([block]) if 2 * block.living < len(block.ids) else block for block in blocks]


def _within_reach(bm25: np.ndarray, allowed: np.ndarray | None, limit: int, rest: float) -> np.ndarray | None:
    """Rows that may still be among the best, ascending; None while a row without any score could become one.

    rest  the most that the terms to come can add
    """
    rows = np.flatnonzero(bm25 if allowed is None else (bm25 > 0) & allowed)
    if len(rows) < limit:
        return None
    scores = bm25[rows]
    least = np.partition(scores, -limit)[-limit]
    return rows[scores >= least - rest] if least > rest else None


def _highest(rows: np.ndarray, scores: np.ndarray, limit: int) -> np.ndarray:
    if len(rows) > limit:
        least = np.partition(scores, -limit)[-limit]
        rows, scores = rows[scores >= least], scores[scores >= least]
    return rows[np.argsort(-scores, kind="stable")][:limit]
