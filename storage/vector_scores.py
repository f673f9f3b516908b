"""Exact cosines of named segments, read from SQLite: for what only the keyword leg has found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.domain import Embedding
from storage.database import Database
from storage.model_rows import model_row
from storage.tables import DOCUMENT_STORE
from storage.vector_rows import vector_rows_by_uid
from storage.vectors import cosines, from_blobs, unit_vector


class SqliteVectorScores:
    """Cosines by segment id, of one model's vectors. Holds nothing; any thread."""

    def __init__(self, database: Database, *, model_id: str, store: str = DOCUMENT_STORE) -> None:
        self._database = database
        self._model_id = model_id
        self._store = store

    def cosines_of(self, embedding: Embedding, ids: Sequence[str]) -> dict[str, float]:
        """Segment id -> cosine, -1 to 1; ids without a vector of this model and dimension are left out."""
        query = unit_vector(embedding)
        with self._database.read() as connection:
            model = model_row(connection, self._model_id)
            if model is None or model.dimension != len(query):
                return {}
            rows = vector_rows_by_uid(connection, self._store, model, ids)
        if not rows:
            return {}
        values = cosines(from_blobs([row.vector for row in rows], len(query)), query)
        return {row.uid: float(value) for row, value in zip(rows, np.asarray(values), strict=True)}
