"""What the database must have besides its rows: tables, indexes and triggers, as the migrations make them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from core.records import Problem
from storage.database import Database
from storage.generation import advance
from storage.migrations import NEWEST, migrate
from storage.tables import metadata

_NAMED = text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type != 'table', rowid")
_KEYWORDS = "segments_fts"
_SHADOWS = ("data", "idx", "docsize", "config", "content")


def missing_parts(connection: Connection, *, full: bool) -> Iterator[Problem]:
    """Tables that can be made again; a full look also compares indexes and triggers with those of a new database."""
    there = _statements(connection)
    if full:
        odd = [name for name, sql in parts_of_format().items() if there.get(name) != sql and not _is_keywords(name)]
    else:
        odd = sorted(metadata.tables.keys() - there.keys())
    if odd:
        yield Problem("missing_parts", f"{len(odd)} parts of the database are missing or wrong, first {odd[0]!r}")


def make_missing_parts(database: Database) -> None:
    """Tables that are made again are empty; what stood in them is missing then, and mended as such."""
    with database.write() as connection:
        there = _statements(connection)
        for name, sql in parts_of_format().items():
            if there.get(name) == sql or _is_keywords(name):
                continue
            kind = sql.split()[1]
            if name in there and kind != "TABLE":
                connection.execute(text(f'DROP {kind} "{name}"'))  # both words come from the migrations
                del there[name]
            if name not in there:
                connection.exec_driver_sql(sql)
        advance(connection)


def rebuild_keyword_index(database: Database) -> None:
    """The FTS5 table with its triggers, whatever is left of it, made anew from the segments' terms."""
    wanted = {name: sql for name, sql in parts_of_format().items() if _is_keywords(name)}
    with database.write() as connection:
        for name, sql in wanted.items():
            if sql.startswith("CREATE TRIGGER"):
                connection.execute(text(f'DROP TRIGGER IF EXISTS "{name}"'))
        _drop_keyword_table(connection)
        for sql in wanted.values():
            if not sql.startswith("CREATE TABLE"):  # those are FTS5's own, which it makes by itself
                connection.exec_driver_sql(sql)
        connection.execute(text(f"INSERT INTO {_KEYWORDS} ({_KEYWORDS}) VALUES ('rebuild')"))
        advance(connection)


def _drop_keyword_table(connection: Connection) -> None:
    try:
        connection.execute(text(f"DROP TABLE IF EXISTS {_KEYWORDS}"))
    except DBAPIError:
        # FTS5 can't open a table that has lost one of its own, not even to drop it; so its entry is taken out by hand.
        connection.execute(text("PRAGMA writable_schema = ON"))
        connection.execute(text("DELETE FROM sqlite_master WHERE name = :name"), {"name": _KEYWORDS})
        connection.execute(text("PRAGMA writable_schema = RESET"))
    for shadow in _SHADOWS:
        connection.execute(text(f"DROP TABLE IF EXISTS {_KEYWORDS}_{shadow}"))


@cache
def parts_of_format(version: str = NEWEST) -> dict[str, str]:
    """Name and SQL of what a database has that was made just now: the migrations are the only place that knows."""
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            migrate(connection, version)
            return _statements(connection)
    finally:
        engine.dispose()


def _statements(connection: Connection) -> dict[str, str]:
    return {row.name: row.sql for row in connection.execute(_NAMED) if row.name != "sqlite_sequence"}


def _is_keywords(name: str) -> bool:
    return name.startswith(_KEYWORDS)
