"""From any older database to the newest, in one transaction, with a copy of the old file kept first.

To change the tables: add a file to `versions/`, change `tables.py`, set NEWEST. Never change a released version.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from core.errors import NewerDatabaseError, StorageError

if TYPE_CHECKING:
    from storage.database import Database

logger = logging.getLogger(__name__)

# Known here too, so that opening an up-to-date database needn't load Alembic; a test compares it with versions/.
NEWEST = "0003"
_FOLDER = Path(__file__).parent


def upgrade(database: Database, *, to: str = NEWEST) -> None:
    """Bring the database to version `to`; does nothing where it is there already.

    raises  NewerDatabaseError for a version that this program doesn't know; StorageError for somebody else's database
    """
    with database.read() as connection:
        found = _version(connection, database.data_dir)
    if found == to:
        return
    known = known_versions()
    if found is not None and found not in known:
        raise NewerDatabaseError(
            f"the data folder {database.data_dir.name!r} was written by a newer Footnote (format {found}, this one "
            f"knows {NEWEST}); update Footnote or choose another folder with FOOTNOTE_DATA"
        )
    with database.write(foreign_keys=False) as connection:
        if _version(connection, database.data_dir) == to:
            return  # another process was faster
        if found is not None:
            # Through a connection of its own, which sees what was there before this transaction.
            name = f"before-{to}-from-{found}-{int(time.time())}.db"
            _keep_copy(database.path, database.data_dir / "backups" / name)
            database.fault("copy of the old database kept")
        migrate(connection, to, database.fault)
        database.fault("migrated: before commit")
    database.fault("migrated")
    logger.info("the database is now in format %s (was %s)", to, found or "empty")


def _version(connection: Connection, data_dir: Path) -> str | None:
    names = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    if not names:
        return None
    if "alembic_version" not in names:
        raise StorageError(f"'footnote.db' in {data_dir.name!r} wasn't made by Footnote; choose another folder")
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def known_versions() -> set[str]:
    """The formats that this program can bring up to date."""
    return {path.name.split("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py")}


def migrate(connection: Connection, to: str = NEWEST, fault: Callable[[str], None] = lambda point: None) -> None:
    """Run what is missing up to version `to`, in the transaction that this connection has open."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["version_done"] = lambda step, **_: fault(f"version {step.up_revision_id} done")
    command.upgrade(config, to)


def _keep_copy(database: Path, target: Path) -> None:
    """A consistent copy through SQLite itself, which includes what is still in the WAL."""
    target.parent.mkdir(exist_ok=True)
    unfinished = target.with_suffix(".tmp")
    try:
        _copy(database, unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _copy(database: Path, target: Path) -> None:
    source = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    copy = sqlite3.connect(target)
    try:
        source.backup(copy)
    finally:
        copy.close()
        source.close()
