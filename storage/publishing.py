"""The parts of a long document become visible: one transaction, and all of it in SQLite, however many segments it has.

Where a finished text of the same bytes is there (a re-index), or the document's old version is needed by nobody else,
its segments with the same text and the same embedded text stay: they keep their row, uid and vectors and only move.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, delete, select, text, update

from core.errors import DocumentError
from core.records import FinishedDocument
from storage.model_rows import model_row
from storage.neutral import neutral_text
from storage.tables import is_visible, segments, text_parts, texts
from storage.text_use import FINISHED, drop_text, is_hidden, show_text

_ROWS_AT_ONCE = 20_000

# Which old segment each new one is: the hash of what was embedded finds it, and the text decides. Of equal ones the
# first is the first.
_TABLES = (
    "CREATE TEMP TABLE old (hash TEXT, place INTEGER, id INTEGER, PRIMARY KEY (hash, place)) WITHOUT ROWID",
    "CREATE TEMP TABLE kept (new_id INTEGER PRIMARY KEY, old_id INTEGER NOT NULL UNIQUE)",
)
_MATCH = (
    """
    INSERT INTO temp.old
    SELECT embedded_hash, row_number() OVER (PARTITION BY embedded_hash ORDER BY text_id != :first, position, id), id
    FROM segments WHERE text_id IN (:first, :second)
    """,
    """
    INSERT INTO temp.kept (new_id, old_id)
    SELECT new.id, old.id FROM (
        SELECT id, embedded_hash, row_number() OVER (PARTITION BY embedded_hash ORDER BY position, id) AS place
        FROM segments WHERE text_id = :staged
    ) AS new CROSS JOIN temp.old AS old ON old.hash = new.embedded_hash AND old.place = new.place
    """,
    """
    DELETE FROM temp.kept WHERE (SELECT text FROM segments WHERE id = new_id) IS NOT
                                (SELECT text FROM segments WHERE id = old_id)
    """,
    "DROP TABLE temp.old",
)
_DIFFERENT = """
old.text_id != :final OR
(old.position, old.start, old.stop, old.embedded_text, old.metadata, old.terms) IS NOT
(new.position, new.start, new.stop, new.embedded_text, new.metadata, new.terms)
"""
_ANY_DIFFERENT = f"""
SELECT 1 FROM temp.kept JOIN segments AS new ON new.id = new_id JOIN segments AS old ON old.id = old_id
WHERE {_DIFFERENT} LIMIT 1
"""
_MOVE = f"""
UPDATE segments AS old SET
    text_id = :final, position = new.position, start = new.start, stop = new.stop, embedded_text = new.embedded_text,
    metadata = new.metadata, terms = new.terms, generation = :generation
FROM temp.kept JOIN segments AS new ON new.id = new_id
WHERE old.id = old_id AND new_id BETWEEN :least AND :most AND ({_DIFFERENT})
"""
_GONE = "text_id IN (:first, :second) AND id NOT IN (SELECT old_id FROM temp.kept)"
_LOG_GONE = f"""
INSERT OR REPLACE INTO removed_segments (segment_id, generation)
SELECT id, :generation FROM segments WHERE generation != 0 AND {_GONE}
"""
_NOT_EMBEDDED = """
NOT EXISTS (SELECT 1 FROM vectors AS other WHERE other.segment_id = old_id AND other.model_id = :model)
"""
_LACK_VECTORS = f"SELECT old_id FROM temp.kept WHERE {_NOT_EMBEDDED}"
_MARK_EMBEDDED = f"UPDATE segments SET generation = :generation WHERE id IN ({_LACK_VECTORS})"
_MOVE_VECTORS = f"""
UPDATE vectors SET segment_id = old_id FROM temp.kept
WHERE vectors.segment_id = new_id AND vectors.model_id = :model AND {_NOT_EMBEDDED}
"""


def publish_text(
    connection: Connection,
    finished: FinishedDocument,
    *,
    staged: int,
    known: int | None,
    reuse: int | None,
    advance: Callable[[], int],
    fault: Callable[[str], None],
) -> tuple[int, bool]:
    """The row id of the finished text, and whether anything is different from before.

    staged  the text that was built
    known   the finished text of the same bytes and pipeline, which it replaces
    reuse   another text whose segments may be taken over, because nothing else needs them
    raises  DocumentError where no part has a segment
    """
    if not _has_segments(connection, staged):
        raise DocumentError(f"{finished.name!r} holds no text that could be searched", file_name=finished.name)
    final = staged if known is None else known
    pool = [text_id for text_id in (known, reuse) if text_id is not None]
    values = _text_values(connection, finished, staged)
    changed = known is None or _is_different(connection, known, values)
    if known is not None and is_hidden(connection, known):
        show_text(connection, known, advance())
        changed = True
    if pool:
        ids = {"staged": staged, "final": final, "first": pool[0], "second": pool[-1]}
        ids["model"] = model_row(connection, finished.model_id).id
        _match(connection, ids)
        fault("segments matched")
        if _needs_change(connection, ids):
            changed = True
            _take_over(connection, {**ids, "generation": advance()})
        connection.execute(text("DELETE FROM segments WHERE id IN (SELECT new_id FROM temp.kept)"))
        connection.execute(text("DROP TABLE temp.kept"))
    fault("segments taken over")
    if _has_segments(connection, staged):
        new = update(segments).where(segments.c.text_id == staged, ~is_visible)
        connection.execute(new.values(text_id=final, generation=advance()))
        changed = True
    fault("segments published")
    if final != staged:
        connection.execute(delete(text_parts).where(text_parts.c.text_id == final))
        connection.execute(update(text_parts).where(text_parts.c.text_id == staged).values(text_id=final))
        drop_text(connection, staged)
    connection.execute(update(texts).where(texts.c.id == final).values(building=FINISHED, seen=time.time(), **values))
    fault("text published")
    return final, changed


def _text_values(connection: Connection, finished: FinishedDocument, staged: int) -> dict[str, Any]:
    row = connection.execute(select(texts.c.characters, texts.c.segment_keys).where(texts.c.id == staged)).one()
    return {
        "type": finished.type,
        "pages": finished.pages,
        "characters": row.characters,
        "warnings": [neutral_text(warning) for warning in finished.warnings],
        "segment_keys": row.segment_keys,
    }


def _is_different(connection: Connection, known: int, values: dict[str, Any]) -> bool:
    row = connection.execute(select(texts).where(texts.c.id == known)).one()
    return any(getattr(row, key) != value for key, value in values.items())


def _has_segments(connection: Connection, text_id: int) -> bool:
    return connection.execute(select(segments.c.id).where(segments.c.text_id == text_id).limit(1)).first() is not None


def _match(connection: Connection, ids: dict[str, int]) -> None:
    for statement in (*_TABLES, *_MATCH):
        connection.execute(text(statement), ids)


def _needs_change(connection: Connection, ids: dict[str, int]) -> bool:
    return any(
        connection.execute(text(query), ids).first() is not None
        for query in (_ANY_DIFFERENT, f"{_LACK_VECTORS} LIMIT 1", f"SELECT 1 FROM segments WHERE {_GONE} LIMIT 1")
    )


def _take_over(connection: Connection, ids: dict[str, int]) -> None:
    connection.execute(text(_LOG_GONE), ids)
    connection.execute(text(f"DELETE FROM segments WHERE {_GONE}"), ids)
    least, most = connection.execute(text("SELECT min(new_id), max(new_id) FROM temp.kept")).one()
    if least is None:
        return
    # In pieces: SQLite first puts all that an UPDATE … FROM is to write into a table of its own.
    for start in range(least, most + 1, _ROWS_AT_ONCE):
        connection.execute(text(_MOVE), {**ids, "least": start, "most": start + _ROWS_AT_ONCE - 1})
    connection.execute(text(_MARK_EMBEDDED), ids)
    connection.execute(text(_MOVE_VECTORS), ids)
