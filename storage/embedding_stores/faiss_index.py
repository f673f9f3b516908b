"""Vectors in FAISS with ids of our own: no SQL, no files, no locks. What is found here is scored again elsewhere.

Measured, 100,000 x 384, one thread: exact 8.0 ms and 154 MB; 8 bits with one range for all numbers 2.5 ms and 38 MB,
with a range for each 3.6 ms; 16 bits 3.7 ms and 77 MB. 8 bits put the 50 nearest among the first 52.
"""

from __future__ import annotations

from collections.abc import Iterable

import faiss
import numpy as np

from storage.filter_mask import Allowed

# Up to here every vector is compared as it is; beyond, in 8 bits a number, a quarter of the memory.
EXACT_LIMIT = 20_000
# Room beyond the largest number seen, for vectors that come later.
_RANGE_MARGIN = 1.25
# A rounding error of so many standard deviations doesn't happen.
_SURE = 6.0
_ROUNDING = 1e-6


class FaissIndex:
    """Inner product over vectors of length 1. Position p of the index holds the vector of `ids[p]`.

    kind    "exact" or "8bit"
    reach   of 8 bits: no number of a vector may be larger, up or down; None: decided by the first vectors
    """

    def __init__(self, dimension: int, kind: str = "exact", *, reach: float | None = None) -> None:
        self.kind = kind
        self.dimension = dimension
        self.ids = np.empty(0, dtype=np.int64)
        self._index = (
            faiss.IndexFlatIP(dimension)
            if kind == "exact"
            else faiss.IndexScalarQuantizer(
                dimension, faiss.ScalarQuantizer.QT_8bit_uniform, faiss.METRIC_INNER_PRODUCT
            )
        )
        if kind != "exact" and reach is not None:
            self._set_reach(reach)

    @property
    def reach(self) -> float:
        """The largest number that a vector's number may be, up or down."""
        if self.kind == "exact":
            return 1.0
        # By decoding: where PyMuPDF is loaded after FAISS, Python takes FAISS's vector of floats for PyMuPDF's.
        codes = np.repeat(np.array([[0], [255]], dtype=np.uint8), self.dimension, axis=1)
        first, last = self._index.sa_decode(codes)[:, 0].astype(float)
        half_a_step = (last - first) / 255 / 2
        return float(min(half_a_step - first, last + half_a_step))

    @property
    def error(self) -> float:
        """How far a score of `search` may be from the exact one."""
        # Rounding makes a number wrong by up to half a step, evenly; over a query of length 1 the errors add up to one
        # of this standard deviation, whatever the dimension.
        return 1e-6 if self.kind == "exact" else _SURE * (2 * self.reach / 255) / 12**0.5

    def takes(self, vectors: np.ndarray) -> bool:
        """Whether these vectors can be added without being cut off."""
        if self.kind == "exact" or not len(vectors) or not self._index.is_trained:
            return True
        return float(np.abs(vectors).max()) <= self.reach + _ROUNDING

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """ids: shape (n,), int64, none of which is in the index; vectors: shape (n, dimension), float32, length 1."""
        if not len(ids):
            return
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if not self._index.is_trained:
            self._set_reach(reach_for(vectors))
        self._index.add(vectors)
        self.ids = np.concatenate([self.ids, ids])

    def remove(self, ids: Iterable[int]) -> int:
        """Remove those that are there; returns how many."""
        gone = np.isin(self.ids, np.fromiter(ids, dtype=np.int64))
        if gone.any():
            # FAISS moves the vectors behind a removed one up; the ids move in the same way.
            self._index.remove_ids(faiss.IDSelectorBatch(np.flatnonzero(gone)))
            self.ids = self.ids[~gone]
        return int(gone.sum())

    def search(self, query: np.ndarray, limit: int, allowed: Allowed | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest among the allowed ones, best first, at most `limit`: (ids, int64; scores, float32).

        query    shape (dimension,), float32, length 1
        allowed  None: all
        """
        among = np.ones(len(self.ids), dtype=bool) if allowed is None else allowed.among(self.ids)
        limit = min(limit, int(np.count_nonzero(among)))
        if not limit:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        bits = np.packbits(among, bitorder="little")
        # Always with a selector, also for all: without one FAISS wakes a thread per core for this one query, which on
        # a busy machine takes several times as long (100,000 x 384: 60 ms, with it 14 ms).
        selector = faiss.IDSelectorBitmap(bits)
        scores, positions = self._index.search(query[None, :], limit, params=faiss.SearchParameters(sel=selector))
        # FAISS pads missing neighbours with position -1.
        found = positions[0] >= 0
        return self.ids[positions[0][found]], scores[0][found]

    def to_bytes(self) -> bytes:
        return faiss.serialize_index(self._index).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, ids: np.ndarray, dimension: int, kind: str) -> FaissIndex:
        """raises ValueError where the bytes are no such index."""
        index = cls(dimension, kind)
        try:
            loaded = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
        except RuntimeError as error:
            raise ValueError(f"not an index: {error}") from error
        fits = (type(loaded), loaded.d, loaded.metric_type, loaded.ntotal)
        if fits != (type(index._index), dimension, faiss.METRIC_INNER_PRODUCT, len(ids)):
            raise ValueError(f"another index than expected: {fits}")
        if kind != "exact" and (loaded.sq.qtype, loaded.sq.trained.size()) != (index._index.sq.qtype, 2):
            raise ValueError("its numbers are kept in another way")
        index._index, index.ids = loaded, ids
        return index

    def _set_reach(self, reach: float) -> None:
        self._index.train(np.full((2, self.dimension), reach, dtype=np.float32) * [[-1], [1]])


def reach_for(vectors: np.ndarray) -> float:
    """Enough for these vectors and others like them."""
    return min(1.0, _RANGE_MARGIN * float(np.abs(vectors).max()))
