"""Rows that refer to others which are gone, as somebody's SQL without foreign keys leaves them.

What a person made is kept: a document, a message gets back a plain parent. What was made from it is removed.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from sqlalchemy import Connection, Row, func, insert, select, text, update

from core.records import Problem
from storage.database import Database
from storage.files import LocalFileStore
from storage.generation import advance, log_removed
from storage.originals import referenced_hashes
from storage.tables import collections, conversations, documents, messages, segments, text_parts, texts
from storage.upkeep.losses import LOST_ORIGINAL, LOST_TEXT

# No file has this hash: of a text whose row was lost, and with it the name of its original.
UNKNOWN_HASH = "0" * 64


def dangling_rows(connection: Connection) -> Iterator[Problem]:
    broken = connection.execute(text("PRAGMA foreign_key_check")).all()
    if broken:
        yield Problem("dangling_row", f"{len(broken)} rows refer to others that are gone, first in {broken[0][0]!r}")


def no_generation(connection: Connection) -> Iterator[Problem]:
    if connection.execute(text("SELECT 1 FROM generations LIMIT 1")).first() is None:
        yield Problem("no_generation", "the number of the index's last change is gone")


def begin_generation(database: Database) -> None:
    """The numbers go on behind those that segments hold; caches of before notice by the stamp."""
    with database.write() as connection:
        newest = connection.execute(select(func.max(segments.c.generation))).scalar() or 0
        known = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = 'generations'")).scalar()
        if (known or 0) < newest:
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = 'generations'"))
            connection.execute(
                text("INSERT INTO sqlite_sequence (name, seq) VALUES ('generations', :seq)"), {"seq": newest}
            )
        advance(connection)


def mend_dangling_rows(database: Database, files: LocalFileStore) -> None:
    with database.write() as connection:
        generation = advance(connection)
        # Each round may leave others dangling, until there is none.
        while broken := connection.execute(text("PRAGMA foreign_key_check")).all():
            by_kind: dict[tuple[str, str], list[int]] = defaultdict(list)
            for table, row_id, parent, _ in broken:
                by_kind[table, parent].append(row_id)
            if ("documents", "texts") in by_kind:
                _restore_texts(connection, files)
                continue  # what belonged to them isn't dangling any more
            for (table, parent), row_ids in by_kind.items():
                _mend(connection, table, parent, row_ids, generation)


def _mend(connection: Connection, table: str, parent: str, row_ids: list[int], generation: int) -> None:
    if (table, parent) == ("documents", "collections"):
        _restore_collections(connection)
    elif (table, parent) == ("messages", "conversations"):
        _restore_conversations(connection)
    elif (table, parent) == ("messages", "messages"):
        connection.execute(update(messages).where(messages.c.id.in_(row_ids)).values(reply_to=None))
    else:
        if table in ("segments", "vectors"):
            column = "id" if table == "segments" else "segment_id"
            query = text(f'SELECT DISTINCT {column} FROM "{table}" WHERE rowid = :id')
            gone = [connection.execute(query, {"id": row_id}).scalar_one() for row_id in row_ids]
            log_removed(connection, generation, set(gone))
        for row_id in row_ids:
            # The table's name comes from SQLite itself.
            connection.execute(text(f'DELETE FROM "{table}" WHERE rowid = :id'), {"id": row_id})


def _restore_texts(connection: Connection, files: LocalFileStore) -> None:
    known = set(connection.execute(select(texts.c.id)).scalars())
    rows = connection.execute(select(documents).where(documents.c.text_id.not_in(known)).order_by(documents.c.id)).all()
    for row in {row.text_id: row for row in reversed(rows)}.values():
        content_hash = _original_of(connection, files, row)
        of_text = segments.c.text_id == row.text_id
        keys = {key for own in connection.execute(select(segments.c.metadata).where(of_text)).scalars() for key in own}
        found = connection.execute(select(func.count()).select_from(segments).where(of_text)).scalar_one()
        characters = select(func.coalesce(func.sum(func.length(text_parts.c.text)), 0))
        warnings = [LOST_ORIGINAL] if content_hash == UNKNOWN_HASH else []
        warnings += [LOST_TEXT] if content_hash == UNKNOWN_HASH and not found else []
        connection.execute(
            insert(texts).values(
                id=row.text_id,
                content_hash=content_hash,
                pipeline=f"restored-{row.text_id}",  # no pipeline's fingerprint: adding the file again reads it anew
                building="",
                type=PurePosixPath(row.name).suffix.removeprefix(".") or "text",
                characters=connection.execute(characters.where(text_parts.c.text_id == row.text_id)).scalar_one(),
                warnings=warnings,
                segment_keys=sorted({"index", *keys}),
                seen=time.time(),
            )
        )


def _original_of(connection: Connection, files: LocalFileStore, row: Row) -> str:
    """The one original of the document's size that belongs to nothing else; several can't be told apart."""
    unused = set(files.hashes()) - referenced_hashes(connection)
    fitting = [found for found in unused if files.path(found).stat().st_size == row.size]
    return fitting[0] if len(fitting) == 1 else UNKNOWN_HASH


def _restore_collections(connection: Connection) -> None:
    known = select(collections.c.id)
    gone = select(documents.c.collection_id).where(documents.c.collection_id.not_in(known)).distinct()
    for row_id in connection.execute(gone).scalars().all():
        connection.execute(insert(collections).values(id=row_id, name=f"restored {row_id}", created=time.time()))


def _restore_conversations(connection: Connection) -> None:
    known = select(conversations.c.id)
    gone = select(messages.c.conversation_id).where(messages.c.conversation_id.not_in(known)).distinct()
    for name in connection.execute(gone).scalars().all():
        first = select(messages.c.text).where(messages.c.conversation_id == name, messages.c.role == "user")
        title = (connection.execute(first.order_by(messages.c.id).limit(1)).scalar() or "")[:60]
        now = time.time()
        connection.execute(insert(conversations).values(id=name, title=title, options={}, created=now, updated=now))
