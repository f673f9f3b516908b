"""Texts and their segments: each text has a use, each document segments, each segment its exact place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import Connection, Row, and_, delete, exists, func, or_, select, update

from core.domain import text_hash
from core.records import Problem
from storage.batches import batched
from storage.database import Database
from storage.files import LocalFileStore
from storage.generation import advance
from storage.tables import deleted_documents, documents, segments, text_parts, texts
from storage.text_parts import excerpt, joined_text
from storage.text_use import half_visible_texts, hide_text, log_text_removed, orphan_texts, show_text
from storage.upkeep.losses import LOST_PLACES, LOST_SEGMENTS, LOST_TEXT, is_said, say

_LOSS = {"no_segments": LOST_TEXT, "wrong_slices": LOST_PLACES, "lost_segments": LOST_SEGMENTS}
_NAMED = 3  # documents in a sentence
_HAS_SEGMENTS = select(segments.c.id).where(segments.c.text_id == texts.c.id).exists()


# ── found ──


def texts_of_nothing(connection: Connection) -> Iterator[Problem]:
    if found := orphan_texts(connection):
        yield Problem("orphan_text", f"{len(found)} texts belong to no document")
    if found := half_visible_texts(connection):
        yield Problem("half_visible", f"{len(found)} texts are shown in part, or shown and deleted")
    if found := _deleted_and_lost(connection):
        names = ", ".join(repr(name) for _, name in found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
        sentence = f"{len(found)} deleted documents have lost their text and can't be brought back ({names})"
        yield Problem("lost_deleted", sentence + "; add their files again if they are wanted")


def no_segments(connection: Connection) -> Iterator[Problem]:
    """Documents that nobody can find. One that says so itself is known."""
    query = select(documents.c.id, documents.c.name).join(texts).where(~_HAS_SEGMENTS, ~is_said(LOST_TEXT))
    for document_id, name in connection.execute(query.order_by(documents.c.id)):
        yield Problem("no_segments", f"{name!r} has no segments and can't be found; re-index it", True, (document_id,))


def wrong_slices(connection: Connection) -> Iterator[Problem]:
    """Each segment of a document is the exact slice that its offsets name, and together they hold all of its text."""
    for survey in _surveys(connection):
        if not survey.wrong and not survey.lost:
            continue
        document_id, name = _document(connection, survey.text_id)
        if survey.wrong:
            sentence = f"{len(survey.wrong)} segments of {name!r} are not where they say; re-index it"
            yield Problem("wrong_slices", sentence, True, (document_id,))
        else:
            yield Problem("lost_segments", f"{name!r} has lost some of its segments; re-index it", True, (document_id,))


# ── mended ──


def remove_orphan_texts(database: Database) -> None:
    with database.write() as connection:
        generation = advance(connection)
        for text_id in orphan_texts(connection):
            # Its original stays where it is: here something went wrong, and it may be all that is left.
            log_text_removed(connection, text_id, generation)
            connection.execute(delete(texts).where(texts.c.id == text_id))


def mend_visibility(database: Database) -> None:
    """A text is visible when a document names it: wholly, or not at all."""
    with database.write() as connection:
        generation = advance(connection)
        for text_id, should_be in half_visible_texts(connection):
            change = show_text if should_be else hide_text
            change(connection, text_id, generation)


def forget_lost_deleted(database: Database) -> None:
    with database.write() as connection:
        for piece in batched(document_id for document_id, _ in _deleted_and_lost(connection)):
            connection.execute(delete(deleted_documents).where(deleted_documents.c.id.in_(piece)))


def mend_slices(database: Database) -> None:
    """Offsets, or the segment's text, from whichever of the two is whole: the hash of what was embedded tells."""
    with database.write() as connection:
        generation = advance(connection)
        for survey in [survey for survey in _surveys(connection) if survey.wrong]:
            whole, _ = joined_text(connection, survey.text_id)
            for row in survey.wrong:
                if values := _right_place(row, whole):
                    change = update(segments).where(segments.c.id == row.id)
                    connection.execute(change.values(generation=generation, **values))


def say_what_is_lost(database: Database, files: LocalFileStore) -> None:
    """Where reading anew is impossible, because the original is gone too, the document says what it has lost."""
    with database.write() as connection:
        losses: dict[str, list[int]] = {LOST_TEXT: [], LOST_PLACES: [], LOST_SEGMENTS: []}
        for problem in (*no_segments(connection), *wrong_slices(connection)):
            losses[_LOSS[problem.kind]] += problem.document_ids
        for loss, ids in losses.items():
            query = select(texts.c.id, texts.c.content_hash).join(documents).where(documents.c.id.in_(ids))
            gone = [row.id for row in connection.execute(query) if not files.is_intact(row.content_hash)]
            say(connection, gone, loss)


# ── inside ──


def _deleted_and_lost(connection: Connection) -> list[tuple[int, str]]:
    """(id, name)"""
    query = select(deleted_documents.c.id, deleted_documents.c.name).join(texts).where(~_HAS_SEGMENTS)
    return [(row.id, row.name) for row in connection.execute(query)]


@dataclass
class _Survey:
    """How the segments of one text lie in it: those that aren't what stands at their place, and whether one is lost."""

    text_id: int
    wrong: list[Row] = field(default_factory=list)
    lost: bool = False


def _surveys(connection: Connection) -> Iterator[_Survey]:
    """Of documents only, and without those that say so themselves. Holds one part of a text at a time."""
    said = or_(is_said(LOST_PLACES), is_said(LOST_SEGMENTS))
    named = exists().where(documents.c.text_id == texts.c.id)
    for text_id in connection.execute(select(texts.c.id).where(named, _HAS_SEGMENTS, ~said)).scalars().all():
        survey, reached = _Survey(text_id), 0
        reading = _Reading(connection, text_id)
        for row in _rows(connection, text_id):
            if reading.slice(row.start, row.stop) != row.text:
                survey.wrong.append(row)
            # Splitters leave out blanks between segments and nothing else.
            survey.lost = survey.lost or bool(reading.slice(reached, row.start).strip())
            reached = max(reached, row.stop)
        survey.lost = survey.lost or bool(reading.slice(reached, reading.end).strip())
        yield survey


def _rows(connection: Connection, text_id: int) -> list[Row]:
    columns = (segments.c.id, segments.c.start, segments.c.stop, segments.c.text)
    columns += (segments.c.embedded_text, segments.c.embedded_hash)
    query = select(*columns).where(segments.c.text_id == text_id, segments.c.start.is_not(None))
    return list(connection.execute(query.order_by(segments.c.start, segments.c.id)))


class _Reading:
    """Slices of a text that are asked for from its beginning to its end; reads each part once."""

    def __init__(self, connection: Connection, text_id: int) -> None:
        self._connection, self._text_id = connection, text_id
        self._parts = _parts(connection, text_id)
        self._start, self._part = next(self._parts, (0, ""))
        length = select(func.max(text_parts.c.start + func.length(text_parts.c.text)))
        self.end: int = connection.execute(length.where(text_parts.c.text_id == text_id)).scalar() or 0

    def slice(self, start: int, stop: int) -> str:
        if stop <= start:
            return ""
        while start >= self._start + len(self._part) and (following := next(self._parts, None)) is not None:
            self._start, self._part = following
        if self._start <= start and stop <= self._start + len(self._part):
            return self._part[start - self._start : stop - self._start]
        return excerpt(self._connection, self._text_id, start, stop)


def _parts(connection: Connection, text_id: int) -> Iterator[tuple[int, str]]:
    """(start, text) of its parts, one after the other."""
    numbers = connection.execute(
        select(text_parts.c.number).where(text_parts.c.text_id == text_id).order_by(text_parts.c.number)
    ).scalars()
    for number in numbers.all():
        which = and_(text_parts.c.text_id == text_id, text_parts.c.number == number)
        row = connection.execute(select(text_parts.c.start, text_parts.c.text).where(which)).one()
        yield row.start, row.text


def _right_place(row: Row, whole: str) -> dict[str, object]:
    """What to write so that the segment is the slice it names; nothing where that can't be known."""
    if text_hash(row.text) == row.embedded_hash or row.embedded_text is not None:
        # The text is the one that was embedded (or can't be told): the offsets are wrong. The nearest place is the one.
        places = list(_places(row.text, whole))
        if places:
            start = min(places, key=lambda place: abs(place - (row.start or 0)))
            return {"start": start, "stop": start + len(row.text)}
    at_place = whole[row.start : row.stop]
    if at_place and text_hash(at_place) == row.embedded_hash:
        return {"text": at_place}
    return {}


def _places(wanted: str, whole: str) -> Iterator[int]:
    place = whole.find(wanted) if wanted else -1
    while place >= 0:
        yield place
        place = whole.find(wanted, place + 1)


def _document(connection: Connection, text_id: int) -> tuple[int, str]:
    query = select(documents.c.id, documents.c.name).where(documents.c.text_id == text_id)
    row = connection.execute(query.order_by(documents.c.id).limit(1)).one()
    return row.id, row.name
