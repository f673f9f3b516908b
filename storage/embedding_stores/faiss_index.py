"""Vectors in FAISS with ids of our own: no SQL, no files, no locks. What is found here is scored again elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import faiss
import numpy as np

from storage.filter_mask import Allowed

# Up to here every vector is compared as it is; beyond, in 8 bits a number, a quarter of the memory.
EXACT_LIMIT = 200_000
_TRAINING_ROWS = 50_000


class FaissIndex:
    """Inner product over vectors of length 1. Position p of the index holds the vector of `ids[p]`.

    kind  "exact" or "8bit", decided by the first vectors it's given
    """

    def __init__(self, dimension: int, kind: str = "exact") -> None:
        self.kind = kind
        self.dimension = dimension
        self.ids = np.empty(0, dtype=np.int64)
        self._index = (
            faiss.IndexFlatIP(dimension)
            if kind == "exact"
            else faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        )

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """ids: shape (n,), int64, none of which is in the index; vectors: shape (n, dimension), float32, length 1."""
        if not len(ids):
            return
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if not self._index.is_trained:
            self._index.train(vectors[:_TRAINING_ROWS])
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

    def search(self, query: np.ndarray, limit: int, allowed: Allowed | None = None) -> np.ndarray:
        """Ids of the nearest among the allowed ones, best first, at most `limit`; int64.

        query    shape (dimension,), float32, length 1
        allowed  None: all
        """
        among = np.ones(len(self.ids), dtype=bool) if allowed is None else allowed.among(self.ids)
        limit = min(limit, int(among.sum()))
        if not limit:
            return np.empty(0, dtype=np.int64)
        bits = np.packbits(among, bitorder="little")
        # Always with a selector, also for all: without one FAISS wakes a thread per core for this one query, which on
        # a busy machine takes several times as long (100,000 x 384: 60 ms, with it 14 ms).
        selector = faiss.IDSelectorBitmap(bits)
        _, positions = self._index.search(query[None, :], limit, params=faiss.SearchParameters(sel=selector))
        # FAISS pads missing neighbours with position -1.
        return self.ids[positions[0][positions[0] >= 0]]

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
        index._index, index.ids = loaded, ids
        return index
