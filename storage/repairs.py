"""What `check --repair` does about what `check` found, one function a kind. Each leaves the rest as it is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import and_, delete, select, text, update

from storage.batches import batched
from storage.checks import STALE_AFTER_S, damaged_vector_ids
from storage.database import Database
from storage.files import LocalFileStore
from storage.generation import advance
from storage.originals import needed_hashes
from storage.tables import embedding_models, is_visible, jobs, segments, texts, vectors
from storage.text_saving import add_vectors
from storage.text_use import half_visible_texts, hide_text, log_text_removed, orphan_texts, show_text
from storage.vectors import unit_rows

logger = logging.getLogger(__name__)

Embed = Callable[[Sequence[str]], np.ndarray]  # texts -> float32, shape (len(texts), dimension)

_BATCH = 64


def remove_dangling_rows(database: Database) -> None:
    """Rows whose parent is gone, as somebody's SQL without foreign keys leaves them."""
    with database.write() as connection:
        while broken := connection.execute(text("PRAGMA foreign_key_check")).all():
            advance(connection)
            for table, row_id, *_ in broken:
                # The table's name comes from SQLite itself.
                connection.execute(text(f'DELETE FROM "{table}" WHERE rowid = :id'), {"id": row_id})


def remove_orphan_texts(database: Database) -> None:
    with database.write() as connection:
        generation = advance(connection)
        for text_id in orphan_texts(connection):
            # Its original stays where it is: here something went wrong, and it may be all that is left.
            log_text_removed(connection, text_id, generation)
            connection.execute(delete(texts).where(texts.c.id == text_id))


def mend_visibility(database: Database) -> None:
    """What a document names can be found, and nothing else."""
    with database.write() as connection:
        generation = advance(connection)
        for text_id, should_be in half_visible_texts(connection):
            change = show_text if should_be else hide_text
            change(connection, text_id, generation)


def remove_damaged_vectors(database: Database) -> None:
    """What they stood for is missing then, and can be embedded anew."""
    with database.write() as connection:
        bad = damaged_vector_ids(connection, full=True)
        generation = advance(connection)
        for segment_id, model_id in bad:
            which = and_(vectors.c.segment_id == segment_id, vectors.c.model_id == model_id)
            connection.execute(delete(vectors).where(which))
        for piece in batched(segment_id for segment_id, _ in bad):
            connection.execute(update(segments).where(segments.c.id.in_(piece)).values(generation=generation))


def embed_missing(database: Database, model_id: str, embed: Embed) -> None:
    """Vectors for the documents' segments that have none by this model, in batches, each committed by itself."""
    done = select(vectors.c.segment_id).join(embedding_models).where(embedding_models.c.name == model_id)
    query = (
        select(segments.c.id, segments.c.text, segments.c.embedded_text)
        .where(segments.c.text_id.is_not(None), is_visible, segments.c.id.not_in(done))
        .order_by(segments.c.id)
    )
    with database.read() as connection:
        rows = connection.execute(query).all()
    for piece in batched(rows, _BATCH):
        made = unit_rows(embed([row.text if row.embedded_text is None else row.embedded_text for row in piece]))
        new = {row.id: vector for row, vector in zip(piece, made, strict=True)}
        with database.write() as connection:
            # While they were embedded, some may have gone or got theirs.
            there = connection.execute(query.where(segments.c.id.in_(list(new)))).scalars().all()
            add_vectors(connection, {id: new[id] for id in there}, model_id, advance(connection))
    logger.info("embedded %d segments that had no vector", len(rows))


def rebuild_keyword_index(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO segments_fts (segments_fts) VALUES ('rebuild')"))
        advance(connection)


def remove_index_files(database: Database) -> None:
    """All of them: they're caches, and the next search builds what it needs."""
    for path in (database.data_dir / "index").glob("*.faiss"):
        path.unlink(missing_ok=True)


def free_stale_jobs(database: Database) -> None:
    stale = and_(jobs.c.state == "running", jobs.c.lease_until < time.time() - STALE_AFTER_S)
    with database.write() as connection:
        connection.execute(
            update(jobs).where(stale).values(state="waiting", phase="waiting", owner=None, lease_until=None)
        )


def tidy_files(database: Database, files: LocalFileStore) -> None:
    """Unfinished files go; originals that nothing refers to are moved to `unused`, for a person to look at."""
    files.sweep()
    with database.write() as connection:
        files.set_aside(needed_hashes(connection))
