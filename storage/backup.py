"""A data folder in one zip file, and back: the database, the originals, and a manifest with their checksums.

    manifest.json   {"format": 1, "files": {"footnote.db": {"sha256": …, "size": …}, …}, "counts": {"documents": …}}

The database is copied by SQLite's own backup, so the app may go on working. Indexes and models aren't in it; they can
be made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.errors import NotFoundError, StorageError
from storage.database import FILE_NAME, Database, no_fault
from storage.database_errors import file_error
from storage.files import LocalFileStore, sync_folder

_FORMAT = 1
_MANIFEST = "manifest.json"
_MEMBER = re.compile(r"footnote\.db|originals/([0-9a-f]{2})/\1[0-9a-f]{62}")
_PIECE = 1 << 20


def write_backup(database: Database, files: LocalFileStore, target: Path) -> dict[str, int]:
    """Write everything into the new file `target`; returns counts of documents, segments, conversations and files.

    raises  StorageError where the file exists, or can't be written; nothing is left then
    """
    target = Path(target).absolute()
    if target.exists():
        raise StorageError(f"{target.name!r} exists already; choose another name for the backup")
    if not target.parent.is_dir():
        raise StorageError(f"there is no folder {str(target.parent)!r} for the backup {target.name!r}; make it first")
    unfinished = target.with_name(target.name + ".unfinished")
    with _file_errors(target), tempfile.TemporaryDirectory(dir=target.parent, prefix=".footnote-backup-") as folder:
        try:
            copy = Path(folder) / FILE_NAME
            _copy_database(database.path, copy)
            database.fault("database copied")
            counts = _write_zip(unfinished, copy, files, database.data_dir)
            database.fault("backup written")
            os.replace(unfinished, target)
            database.fault("backup renamed")
            sync_folder(target.parent)
        finally:
            unfinished.unlink(missing_ok=True)
    return counts


def restore_backup(file: Path, data_dir: Path, *, fault: Callable[[str], None] = no_fault) -> dict[str, int]:
    """Unpack a backup into a folder that is empty or doesn't exist; returns the same counts.

    Every checksum is compared before the folder gets its name. raises StorageError, and the folder stays as it was
    """
    file, data_dir = Path(file), Path(data_dir).absolute()
    if data_dir.exists() and (not data_dir.is_dir() or any(data_dir.iterdir())):
        raise StorageError(f"{data_dir.name!r} isn't empty; restore into a new folder, nothing there is overwritten")
    with _file_errors(data_dir):
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=data_dir.parent, prefix=f".{data_dir.name}-restoring-"))
        try:
            counts = _unpack(file, unfinished)
            fault("backup unpacked")
            # Opening it says at once whether this program is too old for it, and brings an older one up to date.
            Database(unfinished, fault=fault).close()
            fault("restored database opened")
            if data_dir.exists():
                data_dir.rmdir()
            os.replace(unfinished, data_dir)
            fault("restored folder renamed")
            sync_folder(data_dir.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return counts


def _copy_database(path: Path, target: Path) -> None:
    source, copy = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True), sqlite3.connect(target)
    try:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it
    finally:
        copy.close()
        source.close()


def _write_zip(path: Path, database_copy: Path, files: LocalFileStore, data_dir: Path) -> dict[str, int]:
    counts, hashes = _contents(database_copy)
    manifest: dict[str, Any] = {"format": _FORMAT, "files": {}}
    with zipfile.ZipFile(path, "x", allowZip64=True) as archive:
        manifest["files"][FILE_NAME] = _add(archive, FILE_NAME, database_copy)
        for content_hash in hashes:
            try:
                original = files.path(content_hash)
                name = original.relative_to(data_dir).as_posix()
                manifest["files"][name] = _add(archive, name, original)
            except (NotFoundError, FileNotFoundError):
                continue  # gone before, which `check` says, or deleted just now
        manifest["counts"] = {**counts, "files": len(manifest["files"]) - 1}
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
    with path.open("rb+") as written:
        os.fsync(written.fileno())
    return manifest["counts"]


def _contents(database_copy: Path) -> tuple[dict[str, int], list[str]]:
    """Counts, and the hashes of all originals that documents and unfinished jobs of the copy name."""
    copy = sqlite3.connect(database_copy)
    try:
        queries = {
            "documents": "SELECT count(*) FROM documents",
            "segments": "SELECT count(*) FROM segments WHERE generation != 0",  # those that can be found
            "conversations": "SELECT count(*) FROM conversations",
        }
        counts = {name: copy.execute(query).fetchone()[0] for name, query in queries.items()}
        hashes = copy.execute(
            "SELECT content_hash FROM texts UNION "
            "SELECT json_extract(payload, '$.content_hash') FROM jobs WHERE state != 'done'"
        ).fetchall()
    finally:
        copy.close()
    return counts, [content_hash for (content_hash,) in hashes if content_hash]


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    # The database shrinks well; originals mostly are packed already.
    info = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    info.compress_type = zipfile.ZIP_DEFLATED if name == FILE_NAME else zipfile.ZIP_STORED
    with path.open("rb") as source, archive.open(info, "w") as packed:
        while piece := source.read(_PIECE):
            digest.update(piece)
            packed.write(piece)
            size += len(piece)
    return {"sha256": digest.hexdigest(), "size": size}


def _unpack(file: Path, folder: Path) -> dict[str, int]:
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _manifest(archive, file.name)
            for name, expected in manifest["files"].items():
                _extract(archive, name, expected, folder, file.name)
    except FileNotFoundError:
        raise StorageError(f"there is no backup {file.name!r}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _no_backup(file.name, str(error)) from error
    return manifest["counts"]


def _manifest(archive: zipfile.ZipFile, name: str) -> Mapping[str, Any]:
    try:
        manifest = json.loads(archive.read(_MANIFEST))
        if manifest["format"] != _FORMAT:
            raise StorageError(f"{name!r} is a backup of another format ({manifest['format']}); use a newer Footnote")
        members = dict(manifest["files"])
        # Only names that a backup can hold: nothing is ever written outside the folder.
        odd = [member for member in members if not _MEMBER.fullmatch(member)]
        fits = all(isinstance(member["size"], int) and isinstance(member["sha256"], str) for member in members.values())
        if odd or not fits or FILE_NAME not in members or not isinstance(manifest["counts"], dict):
            raise ValueError(f"its list of files is wrong {odd[:1]}")
    except (KeyError, ValueError, TypeError) as error:
        raise _no_backup(name, str(error)) from error
    return manifest


def _extract(archive: zipfile.ZipFile, name: str, expected: Mapping[str, Any], folder: Path, backup_name: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), expected["size"]
    try:
        with archive.open(name) as packed, path.open("xb") as target:
            # One byte more than promised is enough to know; a bomb isn't unpacked.
            while left >= 0 and (piece := packed.read(min(_PIECE, left + 1))):
                digest.update(piece)
                target.write(piece)
                left -= len(piece)
            target.flush()
            os.fsync(target.fileno())
    except KeyError:
        raise _no_backup(backup_name, f"{name} is missing") from None
    if left != 0 or digest.hexdigest() != expected["sha256"]:
        raise _no_backup(backup_name, f"{name} is damaged")


def _no_backup(name: str, why: str) -> StorageError:
    return StorageError(f"{name!r} is no whole backup ({why}); nothing was restored")


@contextlib.contextmanager
def _file_errors(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise file_error(error, where.parent.name or str(where.parent)) from error
    except sqlite3.Error as error:
        raise StorageError(f"the database in {where.name!r} can't be copied: {error}") from error
