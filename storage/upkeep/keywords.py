"""The keyword index: FTS5 over the segments' terms, and the terms themselves. All of it can be made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, bindparam, case, func, select, text, update

from core.errors import StorageError
from core.records import Problem
from storage.database import Database
from storage.generation import advance
from storage.tables import DOCUMENT_STORE, is_visible, segments

_TRIGGERS = text("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'segments_fts_*'")

Terms = Callable[[str], str]  # a segment's text -> its keyword tokens, joined by blanks


def keyword_index(database: Database, *, full: bool) -> Iterator[Problem]:
    try:
        with database.read() as connection:
            held = connection.execute(text("SELECT count(*) FROM segments_fts_docsize")).scalar_one()
            wanted = connection.execute(select(func.count()).select_from(segments)).scalar_one()
            connection.execute(text("SELECT rowid FROM segments_fts LIMIT 1")).all()
            triggers = connection.execute(_TRIGGERS).scalar_one()
    except StorageError as error:
        yield Problem("keyword_index", f"the keyword index can't be read: {error}")
        return
    if triggers != 3:
        yield Problem("keyword_index", "the keyword index isn't kept up to date any more")
    elif held != wanted:
        yield Problem("keyword_index", f"the keyword index holds {held} segments, and there are {wanted}")
    elif full:
        try:
            with database.write() as connection:
                # The form that also compares with the content table; it needs a write transaction and writes nothing.
                connection.execute(text("INSERT INTO segments_fts (segments_fts, rank) VALUES ('integrity-check', 1)"))
        except StorageError:
            yield Problem("keyword_index", "the keyword index doesn't hold the segments' words")


def wrong_terms(connection: Connection, terms: Terms) -> Iterator[Problem]:
    """Documents' segments whose terms aren't those of their text: damaged, or made by an older tokeniser."""
    count = sum(1 for _ in _wrong(connection, terms))
    if count:
        yield Problem("wrong_terms", f"{count} segments would be found by other words than their own")


def mend_terms(database: Database, terms: Terms) -> None:
    with database.write() as connection:
        right = [{"row_id": row_id, "right": found} for row_id, found in _wrong(connection, terms)]
        if right:
            generation = advance(connection)
            # An invisible segment stays so.
            visible = case((is_visible, generation), else_=0)
            change = update(segments).where(segments.c.id == bindparam("row_id"))
            connection.execute(change.values(terms=bindparam("right"), generation=visible), right)


def _wrong(connection: Connection, terms: Terms) -> Iterator[tuple[int, str]]:
    query = select(segments.c.id, segments.c.text, segments.c.terms).where(
        segments.c.store == DOCUMENT_STORE, segments.c.text_id.is_not(None)
    )
    for row in connection.execute(query.order_by(segments.c.id)):
        if (right := terms(row.text)) != row.terms:
            yield row.id, right
