"""What SQLite and the file system report, as one sentence for the person who can act on it."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from core.errors import StorageError

_BY_CODE = {
    "SQLITE_BUSY": "the database in {folder!r} is being written by another Footnote; try again in a moment",
    "SQLITE_LOCKED": "the database in {folder!r} is being written by another Footnote; try again in a moment",
    "SQLITE_FULL": "the disk that holds the data folder {folder!r} is full; free some space and try again",
    "SQLITE_READONLY": "the data folder {folder!r} is read-only; allow writing or choose another with FOOTNOTE_DATA",
    "SQLITE_CANTOPEN": "the database in {folder!r} can't be opened; check that the folder exists and may be written",
    "SQLITE_PERM": "the database in {folder!r} can't be opened; check that the folder may be read and written",
    "SQLITE_CORRUPT": "the database in {folder!r} is damaged; restore a backup into a new folder",
    "SQLITE_NOTADB": "'footnote.db' in {folder!r} is not a database; move it away or restore a backup",
    "SQLITE_IOERR": "the disk that holds the data folder {folder!r} can't be read or written (is it full?)",
    "SQLITE_TOOBIG": "a text is too large for the database in {folder!r}; split the file and add the parts",
}


def storage_error(error: BaseException, data_dir: Path) -> StorageError:
    """The sentence for an error of SQLite (or of SQLAlchemy around it), or of the file system."""
    folder = data_dir.name or str(data_dir)
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, OSError):
        return file_error(cause, folder)
    # Extended codes such as SQLITE_IOERR_WRITE begin with their kind.
    code = getattr(cause, "sqlite_errorname", None) or ""
    for kind, sentence in _BY_CODE.items():
        if code == kind or code.startswith(kind + "_"):
            return StorageError(sentence.format(folder=folder))
    if isinstance(cause, sqlite3.Error):
        return StorageError(f"the database in {folder!r} refused a statement: {cause}")
    return StorageError(f"the database in {folder!r} failed: {cause}")


def file_error(error: OSError, folder: str) -> StorageError:
    """The sentence for an OSError while a file in the data folder was read or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageError(_BY_CODE["SQLITE_FULL"].format(folder=folder))
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(_BY_CODE["SQLITE_READONLY"].format(folder=folder))
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return StorageError(f"{folder!r} can't be the data folder: a file of that name is in the way")
    return StorageError(f"the data folder {folder!r} can't be used: {error.strerror or error}")
