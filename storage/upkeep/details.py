"""What is kept as JSON (page numbers, headings, warnings, records of answers) and can't be read any more.

It's emptied, so that the rest is usable. A document whose segments lost something by it is read anew from its original.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from sqlalchemy import JSON, Column, Connection, Table, func, literal_column, select, text, update

from core.records import Problem
from storage.batches import batched
from storage.database import Database
from storage.files import LocalFileStore
from storage.generation import advance
from storage.tables import documents, is_visible, metadata, segments, text_parts, texts
from storage.upkeep.losses import LOST_DETAILS, is_said, say

_ROW_ID = literal_column("rowid")
_LISTS = frozenset({"marks", "warnings", "segment_keys", "sources", "sentences", "messages"})
_OF_TEXTS = {"segments": segments.c.text_id, "text_parts": text_parts.c.text_id, "texts": texts.c.id}


def unreadable_details(connection: Connection) -> Iterator[Problem]:
    found = {column: ids for column in _columns() if (ids := _unreadable(connection, column))}
    if found:
        first, count = next(iter(found)), sum(map(len, found.values()))
        sentence = f"{count} rows hold details that can't be read, first in {first.table.name!r}"
        yield Problem("unreadable_details", sentence)


def lost_details(connection: Connection, files: LocalFileStore) -> Iterator[Problem]:
    """Documents that say so, though their original is there to be read again."""
    query = select(documents.c.id, documents.c.name, texts.c.content_hash).join(texts).where(is_said(LOST_DETAILS))
    for row in connection.execute(query.order_by(documents.c.id)).all():
        if files.has(row.content_hash):
            sentence = f"{row.name!r} has lost pages, headings or tables of its segments; re-index it"
            yield Problem("lost_details", sentence, True, (row.id,))


def empty_unreadable(database: Database) -> None:
    with database.write() as connection:
        generation, touched = advance(connection), set()
        for column in _columns():
            for row_ids in batched(_unreadable(connection, column)):
                touched |= _texts_of(connection, column.table, row_ids)
                empty = text("'[]'" if column.name in _LISTS else "'{}'")
                change = update(column.table).where(_ROW_ID.in_(row_ids))
                connection.execute(change.values({column.name: empty}))
        for text_id in touched:
            # No pipeline's fingerprint: adding the file again, or indexing it again, reads it anew.
            lost = f"emptied-{text_id}-{time.time():.0f}"
            connection.execute(update(texts).where(texts.c.id == text_id).values(pipeline=lost))
            of_text = update(segments).where(segments.c.text_id == text_id, is_visible)
            connection.execute(of_text.values(generation=generation))
        say(connection, touched, LOST_DETAILS)


def _texts_of(connection: Connection, table: Table, row_ids: list[int]) -> set[int]:
    column = _OF_TEXTS.get(table.name)
    if column is None:
        return set()
    return set(connection.execute(select(column).where(_ROW_ID.in_(row_ids))).scalars()) - {None}


def _columns() -> Iterator[Column]:
    for table in metadata.sorted_tables:
        yield from (column for column in table.columns if isinstance(column.type, JSON))


def _unreadable(connection: Connection, column: Column) -> list[int]:
    """Row ids. SQLite calls NaN no JSON, which Python writes and reads: what Python reads is fine."""
    stored = literal_column(f'"{column.name}"')  # as JSON it would be read first
    query = select(_ROW_ID, stored.label("stored")).select_from(column.table).where(~func.json_valid(stored))
    return [row[0] for row in connection.execute(query) if not _is_json(row.stored)]


def _is_json(stored: object) -> bool:
    try:
        json.loads(stored)
    except (TypeError, ValueError):
        return False
    return True
