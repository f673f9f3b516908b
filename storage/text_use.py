"""What a text is there for: documents name it, deleted ones that may come back do, or it's still being built."""

from __future__ import annotations

import time

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, literal, or_, select, update

from storage.files import SWEEP_AFTER_S
from storage.tables import deleted_documents, documents, is_visible, jobs, removed_segments, segments, texts

FINISHED = ""  # texts.building of all that isn't being built

_OF_DOCUMENT = select(documents.c.id).where(documents.c.text_id == texts.c.id).exists()
_OF_DELETED = select(deleted_documents.c.id).where(deleted_documents.c.text_id == texts.c.id).exists()
# A failed or stopped job may be tried again.
_OF_JOB = (
    select(jobs.c.id)
    .where(jobs.c.state != "done", func.json_extract(jobs.c.payload, "$.content_hash") == texts.c.content_hash)
    .exists()
)


def orphan_texts(connection: Connection) -> list[int]:
    """Row ids of texts that nobody has a use for. An unfinished one has as long as a job may go on with it."""
    being_built = and_(texts.c.building != FINISHED, or_(_OF_JOB, texts.c.seen > time.time() - SWEEP_AFTER_S))
    return list(connection.execute(select(texts.c.id).where(_unnamed(), ~being_built)).scalars())


def abandoned_texts(connection: Connection) -> list[int]:
    """Those of them that are unfinished: what jobs have left that are gone."""
    query = select(texts.c.id).where(
        texts.c.building != FINISHED, ~_OF_JOB, texts.c.seen <= time.time() - SWEEP_AFTER_S
    )
    return list(connection.execute(query).scalars())


def half_visible_texts(connection: Connection) -> list[tuple[int, bool]]:
    """(row id, whether it should be visible) of texts with segments that are when they shouldn't, or aren't.

    A text is visible when a document names it, wholly; no save leaves it otherwise.
    """
    hidden = select(segments.c.text_id).where(~is_visible).distinct()  # by the index over generations
    shown = select(segments.c.id).where(segments.c.text_id == texts.c.id, is_visible).exists()
    wrongly_hidden = select(texts.c.id).where(texts.c.id.in_(hidden), _OF_DOCUMENT)
    wrongly_shown = select(texts.c.id).where(~_OF_DOCUMENT, shown)
    return [
        *((text_id, True) for text_id in connection.execute(wrongly_hidden).scalars()),
        *((text_id, False) for text_id in connection.execute(wrongly_shown).scalars()),
    ]


def has_document(connection: Connection, text_id: int) -> bool:
    return connection.execute(select(documents.c.id).where(documents.c.text_id == text_id).limit(1)).first() is not None


def has_deleted_document(connection: Connection, text_id: int) -> bool:
    query = select(deleted_documents.c.id).where(deleted_documents.c.text_id == text_id)
    return connection.execute(query.limit(1)).first() is not None


def is_hidden(connection: Connection, text_id: int) -> bool:
    """Whether its segments are invisible: all of them are, or none."""
    query = select(segments.c.generation).where(segments.c.text_id == text_id).order_by(segments.c.position)
    return connection.execute(query.limit(1)).scalar() == 0


def show_text(connection: Connection, text_id: int, generation: int) -> None:
    """Its segments are visible from this generation on. In SQLite alone, however many there are."""
    hidden = (segments.c.text_id == text_id, ~is_visible)
    connection.execute(
        delete(removed_segments).where(removed_segments.c.segment_id.in_(select(segments.c.id).where(*hidden)))
    )
    connection.execute(update(segments).where(*hidden).values(generation=generation))


def hide_text(connection: Connection, text_id: int, generation: int) -> None:
    """Caches drop its segments; they themselves, and their vectors, stay."""
    log_text_removed(connection, text_id, generation)
    connection.execute(update(segments).where(segments.c.text_id == text_id, is_visible).values(generation=0))


def drop_text(connection: Connection, text_id: int) -> None:
    """Of an unfinished text, which nobody has seen: it goes, and its original is left to those who add it again."""
    connection.execute(delete(texts).where(texts.c.id == text_id, texts.c.building != FINISHED))


def drop_parts_of_other_settings(connection: Connection, content_hash: str, pipeline: str) -> None:
    """Once a content is there by this pipeline, nobody goes on with what an earlier one had begun to read of it.

    Unless another process just does: then two jobs name the content.
    """
    others = (texts.c.content_hash == content_hash, texts.c.building != FINISHED, texts.c.pipeline != pipeline)
    begun = connection.execute(select(texts.c.id).where(*others)).scalars().all()
    if not begun:
        return
    of_content = func.json_extract(jobs.c.payload, "$.content_hash") == content_hash
    active = select(func.count()).select_from(jobs).where(jobs.c.state.in_(("waiting", "running")), of_content)
    if connection.execute(active).scalar_one() <= 1:
        for text_id in begun:
            drop_text(connection, text_id)


def log_text_removed(connection: Connection, text_id: int, generation: int) -> None:
    gone = select(segments.c.id, literal(generation)).where(segments.c.text_id == text_id, is_visible)
    connection.execute(
        insert(removed_segments).prefix_with("OR REPLACE").from_select(["segment_id", "generation"], gone)
    )


def _unnamed() -> ColumnElement[bool]:
    return and_(~_OF_DOCUMENT, ~_OF_DELETED)
