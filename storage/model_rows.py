"""Embedding models as the database knows them: a name that vectors refer to, and one dimension for ever."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Row, func, insert, select

from storage.batches import batched
from storage.tables import embedding_models, segments, vectors
from storage.vectors import wrong_dimension


def model_row(connection: Connection, model_id: str) -> Row | None:
    """(id, name, dimension), or None for a model that has made no vector here."""
    return connection.execute(select(embedding_models).where(embedding_models.c.name == model_id)).one_or_none()


def ensured_model_id(connection: Connection, model_id: str, dimension: int) -> int:
    """The row id. raises ConfigError where its vectors have another dimension."""
    row = model_row(connection, model_id)
    if row is None:
        result = connection.execute(insert(embedding_models).values(name=model_id, dimension=dimension))
        return result.inserted_primary_key[0]
    if row.dimension != dimension:
        raise wrong_dimension(dimension, model_id=model_id, dimension=row.dimension)
    return row.id


def embedded_ids(connection: Connection, segment_ids: Iterable[int], model_id: str) -> set[int]:
    """Those of the segments that have a vector of this model."""
    found: set[int] = set()
    for piece in batched(segment_ids):
        query = (
            select(vectors.c.segment_id)
            .join(embedding_models)
            .where(vectors.c.segment_id.in_(piece), embedding_models.c.name == model_id)
        )
        found.update(connection.execute(query).scalars())
    return found


def is_complete(connection: Connection, text_id: int, model_id: str) -> bool:
    """Whether each segment of the text has a vector of this model, and there is one segment at least."""
    of_text = select(func.count()).select_from(segments).where(segments.c.text_id == text_id)
    total = connection.execute(of_text).scalar_one()
    embedded = connection.execute(
        of_text.join(vectors).join(embedding_models).where(embedding_models.c.name == model_id)
    ).scalar_one()
    return 0 < total == embedded
