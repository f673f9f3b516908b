"""Whether a database from outside is one that Footnote made; asked before anything in it can run.

Views and triggers are programs: whoever reads the one, or writes into the table of the other, runs it, whatever it's
called. So each part has to be, word for word, what the migrations make for the format that the file says it has. What
is lacking isn't refused: a repair makes it again.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from core.errors import NewerDatabaseError
from storage.backup_file import no_backup
from storage.migrations import known_versions
from storage.upkeep.schema import parts_of_format

_VERSION = "alembic_version"
# How FTS5 words its own tables is up to SQLite's version; a plain table runs nothing.
_SHADOW = re.compile(r"CREATE TABLE '(segments_fts_(?:data|idx|docsize|config))' ?\(.*\)(?: WITHOUT ROWID)?", re.DOTALL)
_SQLITES_OWN = {
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}


def refuse_foreign(database: Path, name: str) -> None:
    """name    the backup's, for what is said

    raises  StorageError where it isn't Footnote's, or is damaged; NewerDatabaseError where this program is too old
    """
    try:
        with closing(sqlite3.connect(database)) as connection:
            parts = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
            version = _version(connection, parts, name)
            for part, sql in parts:
                if not _is_own(part, sql, version):
                    raise no_backup(name, f"its database holds {part!r}, which isn't Footnote's")
            (found, *_), *_ = connection.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        raise no_backup(name, f"its database is damaged: {error}") from error
    if found != "ok" and "fts5" not in found.lower():
        raise no_backup(name, f"its database is damaged: {found}")


def _version(connection: sqlite3.Connection, parts: list[tuple[str, str | None]], name: str) -> str:
    """Its format, read only from a table that is Footnote's."""
    wanted = parts_of_format("0001")[_VERSION]
    if not any(part == _VERSION and _words(sql) == _words(wanted) for part, sql in parts):
        raise no_backup(name, "its database isn't Footnote's")
    found = [version for (version,) in connection.execute(f"SELECT version_num FROM {_VERSION}")]
    if len(found) != 1 or not isinstance(found[0], str):
        raise no_backup(name, "its database doesn't say its format")
    if found[0] not in known_versions():
        raise NewerDatabaseError(f"{name!r} was written by a newer Footnote; update this one to restore it")
    return found[0]


def _is_own(part: str, sql: str | None, version: str) -> bool:
    if sql is None:
        return part.startswith("sqlite_autoindex_")  # of a UNIQUE in a table
    if part in _SQLITES_OWN:
        return sql == _SQLITES_OWN[part]
    if shadow := _SHADOW.fullmatch(sql):
        return shadow[1] == part
    wanted = parts_of_format(version).get(part)
    return wanted is not None and _words(sql) == _words(wanted)


def _words(sql: str | None) -> list[str]:
    """Between them Alembic's versions leave other blanks."""
    return (sql or "").split()
