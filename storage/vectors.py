"""Vectors as they are kept: float32, little-endian, length 1. NaN, zero and wrong sizes never get in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.domain import Embedding
from core.errors import ConfigError

DTYPE = np.dtype("<f4")


def unit_rows(vectors: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """Rows of length 1, float32, shape as given. Rows that have it already keep their bytes.

    raises  ConfigError that names the row which is zero, or holds NaN or infinity, or has another size
    """
    rows = _matrix(vectors)
    if not len(rows):
        return rows
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(bad):
        raise ConfigError(f"vector {bad[0]} is zero or holds NaN or infinity; such a vector can't be compared")
    off = np.abs(lengths - 1) > 1e-6
    rows[off] = (rows[off] / lengths[off, None]).astype(DTYPE)
    return rows


def unit_vector(embedding: Embedding) -> np.ndarray:
    """The direction of an embedding: shape (dimension,), float32, length 1; the embedding itself stays as it is."""
    return unit_rows(embedding.vector[None, :])[0]


def cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """cos(row, query) per row: shape (len(rows),), float64, rounded to 7 digits, which is what float32 holds.

    Rounding makes a vector's cosine with itself exactly 1, so that an inclusive min_score of 1 finds it.
    """
    rows, query = rows.astype(np.float64), query.astype(np.float64)
    exact = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    return np.clip(np.round(exact, 7), -1.0, 1.0) + 0.0  # + 0.0: no negative zero


def to_blob(row: np.ndarray) -> bytes:
    return np.ascontiguousarray(row, dtype=DTYPE).tobytes()


def from_blobs(blobs: Sequence[bytes], dimension: int) -> np.ndarray:
    """Shape (len(blobs), dimension), float32."""
    return np.frombuffer(b"".join(blobs), dtype=DTYPE).reshape(len(blobs), dimension)


def wrong_dimension(got: int, *, model_id: str, dimension: int) -> ConfigError:
    return ConfigError(
        f"a vector of {got} dimensions doesn't fit the index, which holds {dimension} dimensions made by {model_id!r}; "
        "choose that embedding model again, or re-index the documents with the new one"
    )


def _matrix(vectors: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    if not isinstance(vectors, np.ndarray):
        sizes = sorted({len(row) for row in vectors})
        if len(sizes) > 1:
            raise ConfigError(f"vectors of {sizes[0]} and {sizes[-1]} dimensions can't be stored together")
        vectors = np.array(vectors, dtype=DTYPE).reshape(len(vectors), sizes[0] if sizes else 0)
    if vectors.ndim != 2:
        raise ConfigError(f"vectors must be rows of one table, not an array of shape {vectors.shape}")
    return np.array(vectors, dtype=DTYPE)
