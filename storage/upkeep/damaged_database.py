"""The database file itself: a damage that only a backup mends. The sentence says what can still be saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from core.records import Problem
from storage.database_errors import what_helps
from storage.tables import metadata

# Without these, what is left would be taken for a library that is empty, and tidied away.
_MADE_AGAIN = frozenset({"vectors", "generations", "removed_segments", "measurements", "superfluous_originals"})


def damaged_database(connection: Connection, data_dir: Path, *, full: bool) -> Iterator[Problem]:
    """Only a full look reads every page of the file."""
    found = _damages(connection) if full else []
    there = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    gone = sorted(metadata.tables.keys() - there)
    found += [f"its table {name!r} is gone" for name in gone if name not in _MADE_AGAIN]
    if found:
        yield Problem("damaged_database", f"the database is damaged ({found[0]}); {what_helps(data_dir)}", False)


def _damages(connection: Connection) -> list[str]:
    try:
        lines = connection.execute(text("PRAGMA integrity_check(5)")).scalars().all()
    except DBAPIError as error:  # too damaged to be gone through
        return [str(error.orig)]
    # Newer SQLites look into the keyword index too, which can be made again.
    return [line for line in lines if line != "ok" and "fts5" not in line.lower()]
