"""Vectors: each visible segment has one by the model in use, of its size and of length 1."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sqlalchemy import Connection, Select, and_, delete, func, select, update

from core.records import Problem
from storage.batches import batched
from storage.database import Database
from storage.generation import advance
from storage.tables import documents, embedding_models, is_visible, segments, texts, vectors
from storage.text_saving import add_vectors
from storage.vectors import from_blobs, unit_rows

logger = logging.getLogger(__name__)

Embed = Callable[[Sequence[str]], np.ndarray]  # texts -> float32, shape (len(texts), dimension)

_BATCH = 64


def missing_vectors(connection: Connection, model_id: str | None, *, can_embed: bool) -> Iterator[Problem]:
    """A document that was wholly embedded by another model has lost nothing; it's told apart from a damaged one.

    model_id  None where no model is at hand: vectors by any will do
    """
    missing = connection.execute(
        select(texts.c.id, func.count(segments.c.id.distinct()), func.min(documents.c.name), func.min(documents.c.id))
        .select_from(segments)
        .join(texts)
        .join(documents, documents.c.text_id == texts.c.id)
        .where(is_visible, segments.c.id.not_in(_embedded_by(model_id)))
        .group_by(texts.c.id)
    ).all()
    for text_id, count, name, document_id in missing:
        kind = "other_model" if model_id and _is_of_another_model(connection, text_id, model_id) else "missing_vectors"
        sentence = f"{count} segments of {name!r} have no vector" + (f" by {model_id!r}" if model_id else "")
        yield Problem(
            kind, sentence + ("; re-index it" if model_id and not can_embed else ""), can_embed, (document_id,)
        )


def damaged_vectors(connection: Connection, *, full: bool) -> Iterator[Problem]:
    bad = _damaged_ids(connection, full=full)
    if bad:
        yield Problem("damaged_vectors", f"{len(bad)} vectors have the wrong size, or are not of length 1")


def remove_damaged_vectors(database: Database) -> None:
    """What they stood for is missing then, and can be embedded anew."""
    with database.write() as connection:
        bad = _damaged_ids(connection, full=True)
        generation = advance(connection)
        for segment_id, model_id in bad:
            which = and_(vectors.c.segment_id == segment_id, vectors.c.model_id == model_id)
            connection.execute(delete(vectors).where(which))
        for piece in batched(segment_id for segment_id, _ in bad):
            changed = update(segments).where(segments.c.id.in_(piece), is_visible)
            connection.execute(changed.values(generation=generation))


def embed_missing(
    database: Database, model_id: str, embed: Embed, *, is_stopped: Callable[[], bool] = lambda: False
) -> None:
    """Vectors for the documents' segments that have none by this model, in batches, each committed by itself."""
    query = _without_vector(model_id)
    with database.read() as connection:
        rows = connection.execute(query).all()
    for piece in batched(rows, _BATCH):
        if is_stopped():
            return
        made = unit_rows(embed([row.text if row.embedded_text is None else row.embedded_text for row in piece]))
        new = {row.id: vector for row, vector in zip(piece, made, strict=True)}
        with database.write() as connection:
            # While they were embedded, some may have gone or got theirs.
            there = connection.execute(query.where(segments.c.id.in_(list(new)))).scalars().all()
            add_vectors(connection, {id: new[id] for id in there}, model_id, advance(connection))
    logger.info("embedded %d segments that had no vector", len(rows))


def _without_vector(model_id: str) -> Select:
    return (
        select(segments.c.id, segments.c.text, segments.c.embedded_text)
        .where(segments.c.text_id.is_not(None), is_visible, segments.c.id.not_in(_embedded_by(model_id)))
        .order_by(segments.c.id)
    )


def _embedded_by(model_id: str | None) -> Select:
    query = select(vectors.c.segment_id).join(embedding_models)
    return query if model_id is None else query.where(embedding_models.c.name == model_id)


def _is_of_another_model(connection: Connection, text_id: int, model_id: str) -> bool:
    """Whether a model other than this has embedded each segment of the text, and this one none."""
    of_text = select(func.count()).select_from(segments).where(segments.c.text_id == text_id, is_visible)
    total = connection.execute(of_text).scalar_one()
    by_model = of_text.join(vectors).join(embedding_models).group_by(embedding_models.c.name)
    counts = dict(connection.execute(by_model.with_only_columns(embedding_models.c.name, func.count())).all())
    return model_id not in counts and total in counts.values()


def _damaged_ids(connection: Connection, *, full: bool) -> list[tuple[int, int]]:
    """(segment id, model row id) of vectors that no search should meet. Only a full look reads their numbers."""
    found: list[tuple[int, int]] = []
    for model in connection.execute(select(embedding_models)).all():
        of_model = vectors.c.model_id == model.id
        fits = and_(func.length(vectors.c.vector) == 4 * model.dimension, func.typeof(vectors.c.vector) == "blob")
        wrong = connection.execute(select(vectors.c.segment_id).where(of_model, ~fits)).scalars()
        found += [(segment_id, model.id) for segment_id in wrong]
        if not full:
            continue
        for rows in connection.execute(select(vectors.c.segment_id, vectors.c.vector).where(of_model, fits)).partitions(
            10_000
        ):
            lengths = np.linalg.norm(from_blobs([row.vector for row in rows], model.dimension), axis=1)
            off = ~(np.abs(lengths - 1) < 1e-3)  # so written, NaN counts as off
            found += [(rows[place].segment_id, model.id) for place in np.flatnonzero(off)]
    return found
