"""A data folder in one zip file, and back; also while others write. The file's format is in `backup_file.py`.

What is carried: documents with their segments, vectors and originals, conversations, settings, jobs that aren't done.
What isn't: deleted documents, parts of documents that aren't read to their end (their jobs begin anew), figures of this
machine, indexes and models, which can be made again.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import NotFoundError, StorageError
from storage.backup_file import no_backup, pack, unpack, verify
from storage.conversations import ABANDONED, WORKING
from storage.database import FILE_NAME, Database, no_fault
from storage.database_errors import folder_error
from storage.files import LocalFileStore, is_hash, sync_folder
from storage.foreign_database import refuse_foreign
from storage.originals import needed_hashes

_PREFIX = ".footnote-backup-"
_RESTORING = ".footnote-restoring-"
_LEFT_BEHIND_S = 24 * 3600.0
_SQLITE_FILE = b"SQLite format 3\0"

_LEFT_OUT = f"""
DELETE FROM deleted_documents;
DELETE FROM texts WHERE id NOT IN (SELECT text_id FROM documents);
DELETE FROM superfluous_originals;
DELETE FROM measurements;
UPDATE jobs SET state = 'waiting', phase = 'waiting', owner = NULL, lease_until = NULL WHERE state = 'running';
UPDATE messages SET state = 'interrupted', reason = '{ABANDONED}', owner = NULL, lease_until = NULL
    WHERE state IN {WORKING}
"""


@dataclass(frozen=True)
class _Snapshot:
    """One moment of a data folder: a copy of the database, and the originals that were there for it."""

    database: Path
    held: Path  # second names of the originals, for as long as the snapshot is used
    present: frozenset[str]


def write_backup(database: Database, files: LocalFileStore, target: Path) -> dict[str, int]:
    """Write everything into the new file `target`; returns counts of documents, segments, conversations and files.

    It's read back and compared before it gets its name. raises StorageError where the file exists, can't be written, or
    the database is damaged; nothing is left then
    """
    target = Path(target).absolute()
    with _errors(target.parent, "the backup"):
        _refuse_target(target, database.data_dir)
        _sweep(target.parent, _PREFIX)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_PREFIX) as folder:
            # In a folder of its own: the person's name for it may be that of a file beside.
            unfinished = Path(folder) / "packed" / target.name
            unfinished.parent.mkdir()
            with _snapshot(database, files, Path(folder)) as snapshot:
                database.fault("database copied")
                counts, hashes = _contents(snapshot.database)
                originals = _originals(snapshot, files, hashes)
                counts = pack(unfinished, snapshot.database, originals, counts)
            verify(unfinished)
            database.fault("backup written")
            os.replace(unfinished, target)
            database.fault("backup renamed")
            sync_folder(target.parent)
    return counts


def _refuse_target(target: Path, data_dir: Path) -> None:
    """What lies among the data folder's own files would be taken for one of them, and removed by the next tidying."""
    if target.exists():
        raise StorageError(f"{target.name!r} exists already; choose another name for the backup")
    if not target.parent.is_dir():
        raise StorageError(f"there is no folder {str(target.parent)!r} for the backup {target.name!r}; make it first")
    real, own = target.parent.resolve(), data_dir.resolve()
    is_in_own_folder = own in (real, *real.parents) and own / "backups" not in (real, *real.parents)
    if is_in_own_folder and (real != own or target.name.startswith(FILE_NAME)):
        raise StorageError(
            f"{target.name!r} would lie among the files that Footnote keeps itself; put the backup outside the data "
            "folder, or into its folder 'backups'"
        )


def restore_backup(file: Path, data_dir: Path, *, fault: Callable[[str], None] = no_fault) -> dict[str, int]:
    """Unpack a backup into a folder that is empty or doesn't exist; returns the same counts.

    Where originals of documents aren't in it, "missing_originals" says how many.

    file    a backup; or a copy of the database as an upgrade keeps it in `backups`, whose originals are looked for
            beside it and beside that folder
    raises  StorageError or NewerDatabaseError, and the folder stays as it was
    """
    file, data_dir = Path(file).absolute(), Path(data_dir).absolute()
    with _errors(data_dir, "the restored data"):
        if data_dir.exists() and not data_dir.is_dir():
            raise StorageError(f"{data_dir.name!r} is a file; restore into a new folder")
        if data_dir.exists() and any(data_dir.iterdir()):
            raise StorageError(f"{data_dir.name!r} isn't empty; restore into a new folder, nothing is overwritten")
        is_database = _is_database(file)
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        _sweep(data_dir.parent, _RESTORING)
        with tempfile.TemporaryDirectory(dir=data_dir.parent, prefix=_RESTORING) as folder:
            unfinished = Path(folder) / data_dir.name  # what goes wrong names the folder as the person does
            unfinished.mkdir()
            _copy_database(file, unfinished) if is_database else unpack(file, unfinished)
            refuse_foreign(unfinished / FILE_NAME, file.name)
            hashes = _restored_hashes(unfinished, file.name)
            if is_database:
                _bring_originals(file, unfinished, hashes)
            counts = _restored_counts(unfinished, hashes)
            fault("backup unpacked")
            with Database(unfinished, fault=fault):
                pass  # brings an older one up to date
            fault("restored database opened")
            if data_dir.exists():
                data_dir.rmdir()
            os.replace(unfinished, data_dir)
            fault("restored folder renamed")
            sync_folder(data_dir.parent)
    return counts


@contextlib.contextmanager
def _snapshot(database: Database, files: LocalFileStore, folder: Path) -> Iterator[_Snapshot]:
    whole, small = folder / "whole.db", folder / FILE_NAME
    with contextlib.ExitStack() as opened:
        source = opened.enter_context(_connection(f"{database.path.as_uri()}?mode=ro"))
        # Originals are removed inside write transactions: while this one lasts, and it's a short one, all stay.
        with database.write() as connection:
            hashes = needed_hashes(connection)
            present = frozenset(content_hash for content_hash in hashes if files.has(content_hash))
            held = opened.enter_context(files.held(present))
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM documents").fetchone()  # from here on it sees this moment
        with _connection(whole) as copy:
            source.backup(copy)
            source.execute("ROLLBACK")
            _refuse_damaged(copy)
            copy.execute("PRAGMA foreign_keys = ON")
            copy.execute("BEGIN")
            for statement in _LEFT_OUT.split(";\n"):
                copy.execute(statement)
            copy.execute("COMMIT")
            # What was deleted lies in the file's free pages still; a copy of the rows alone leaves it out.
            copy.execute("VACUUM INTO ?", (str(small),))
        whole.unlink()
        yield _Snapshot(small, held, present)


def _refuse_damaged(copy: sqlite3.Connection) -> None:
    (found, *_), *_ = copy.execute("PRAGMA integrity_check(1)").fetchall()
    if found != "ok" and "fts5" not in found.lower():
        raise StorageError(f"the database is damaged ({found}), so it isn't backed up; run: python cli.py check")


def _contents(database_copy: Path) -> tuple[dict[str, int], list[str]]:
    """Counts, and the hashes of all originals that documents and unfinished jobs of the copy name."""
    queries = {
        "documents": "SELECT count(*) FROM documents",
        "segments": "SELECT count(*) FROM segments WHERE generation != 0",  # those that can be found
        "conversations": "SELECT count(*) FROM conversations",
    }
    with _connection(database_copy) as copy:
        counts = {name: copy.execute(query).fetchone()[0] for name, query in queries.items()}
        hashes = copy.execute(
            "SELECT content_hash FROM texts UNION "
            "SELECT json_extract(payload, '$.content_hash') FROM jobs WHERE state != 'done'"
        ).fetchall()
    return counts, [content_hash for (content_hash,) in hashes if content_hash]


def _originals(snapshot: _Snapshot, files: LocalFileStore, hashes: list[str]) -> Iterator[tuple[str, Path]]:
    """(hash, path); those that were lost before are left out, which `check` says."""
    for content_hash in hashes:
        if content_hash not in snapshot.present:
            continue
        held = snapshot.held / content_hash
        try:
            yield content_hash, held if held.exists() else files.path(content_hash)
        except NotFoundError:
            # Only on a disk that knows no second names for files.
            raise StorageError("a document was deleted for good while the backup was written; try again") from None


def _is_database(file: Path) -> bool:
    try:
        if file.exists() and not file.is_file():
            raise StorageError(f"the backup {file.name!r} can't be read: it isn't a file")
        with file.open("rb") as stream:
            return stream.read(len(_SQLITE_FILE)) == _SQLITE_FILE
    except FileNotFoundError:
        raise StorageError(f"there is no backup {file.name!r}") from None
    except OSError as error:
        raise StorageError(f"the backup {file.name!r} can't be read: {error.strerror or error}") from None


def _copy_database(file: Path, folder: Path) -> None:
    _refuse_in_use(file)
    shutil.copyfile(file, folder / FILE_NAME)
    _refuse_in_use(file)  # it may have been opened meanwhile


def _refuse_in_use(file: Path) -> None:
    """What was written last lies in the file beside it, and would be lost."""
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StorageError(
            f"{file.name!r} is a database in use; make a backup of it first: "
            f"python cli.py --data {shlex.quote(str(file.parent))} backup FILE"
        )


def _restored_hashes(folder: Path, name: str) -> list[str]:
    """Of the originals that the database names, which is somebody's: they have to be hashes."""
    try:
        _, hashes = _contents(folder / FILE_NAME)
    except sqlite3.DatabaseError as error:
        raise no_backup(name, f"its database can't be read: {error}") from error
    if odd := [found for found in hashes if not is_hash(found)]:
        raise no_backup(name, f"its database names the original {odd[0]!r}, which isn't the SHA-256 of a file")
    return hashes


def _bring_originals(file: Path, folder: Path, hashes: list[str]) -> None:
    """From the data folder that the database lies in, or that its folder `backups` lies in."""
    files = LocalFileStore(folder)
    places = [LocalFileStore(place) for place in (file.parent, file.parent.parent)]
    for content_hash in hashes:
        there = next((place for place in places if place.is_intact(content_hash)), None)
        if there is not None:
            with there.path(content_hash).open("rb") as stream:
                files.put(stream)


def _restored_counts(folder: Path, hashes: list[str]) -> dict[str, int]:
    """What is there now, whatever the backup says of itself."""
    counts, _ = _contents(folder / FILE_NAME)
    files = LocalFileStore(folder)
    with _connection(folder / FILE_NAME) as copy:
        needed = copy.execute("SELECT DISTINCT content_hash FROM texts WHERE id IN (SELECT text_id FROM documents)")
        missing = sum(not files.has(content_hash) for (content_hash,) in needed)
    counts["files"] = sum(files.has(content_hash) for content_hash in hashes)
    return {**counts, "missing_originals": missing} if missing else counts


@contextlib.contextmanager
def _connection(path: Path | str) -> Iterator[sqlite3.Connection]:
    """Closed at the end; each statement is a transaction of its own unless one is begun."""
    connection = sqlite3.connect(path, uri=isinstance(path, str), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def _sweep(folder: Path, prefix: str) -> None:
    """What was left by one that was killed, a day ago or more."""
    for path in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _LEFT_BEHIND_S:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _errors(folder: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise folder_error(error, folder, what) from error
