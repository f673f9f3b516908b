"""Rows by many values at once, with statements that are made one time: a search asks the same few again and again.

NAMES = select(segments.c.id, segments.c.uid).where(segments.c.id.in_(ASKED))
rows_of(connection, NAMES, ids)
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Executable, Row, bindparam

from storage.batches import batched

ASKED = bindparam("asked", expanding=True)


def rows_of(connection: Connection, statement: Executable, asked: Iterable, **values: object) -> list[Row]:
    """All rows of the statement for the values ASKED stands for, as few at a time as SQLite takes."""
    return [row for piece in batched(asked) for row in connection.execute(statement, {"asked": piece, **values}).all()]
