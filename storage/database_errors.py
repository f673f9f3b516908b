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
    "SQLITE_CORRUPT": "the database in {folder!r} is damaged; {help}",
    "SQLITE_NOTADB": "'footnote.db' in {folder!r} is not a database; {help}",
    "SQLITE_IOERR": "the disk that holds the data folder {folder!r} can't be read or written (is it full?)",
    "SQLITE_TOOBIG": "a text is too large for the database in {folder!r}; split the file and add the parts",
}

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


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
            return StorageError(sentence.format(folder=folder, help=what_helps(data_dir)))
    if isinstance(cause, sqlite3.Error):
        return StorageError(f"the database in {folder!r} refused a statement: {cause}")
    return StorageError(f"the database in {folder!r} failed: {cause}")


def what_helps(data_dir: Path) -> str:
    """Against a damaged database: the newest backup that lies in this folder, and what is still whole without it."""
    kept = [path for pattern in ("*.zip", "*.db") for path in (data_dir / "backups").glob(pattern)]
    newest = max(kept, key=lambda path: path.stat().st_mtime, default=None)
    backup = "restore a backup" if newest is None else f"restore the newest backup here, 'backups/{newest.name}',"
    return f"{backup} into a new folder; the files in 'originals' are apart from it and can be added anew"


def file_error(error: OSError, folder: str) -> StorageError:
    """The sentence for an OSError while a file in the data folder was read or written."""
    if error.errno in _NO_ROOM:
        return StorageError(_BY_CODE["SQLITE_FULL"].format(folder=folder))
    if error.errno in _NOT_ALLOWED:
        return StorageError(_BY_CODE["SQLITE_READONLY"].format(folder=folder))
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return StorageError(_in_the_way(error, folder))
    return StorageError(f"the data folder {folder!r} can't be used: {error.strerror or error}")


def _in_the_way(error: OSError, folder: str) -> str:
    name = Path(error.filename or folder).name
    if error.errno == errno.EEXIST and name != folder:
        return f"in the data folder {folder!r} a file named {name!r} is in the way; move it away"
    return f"{folder!r} can't be the data folder: a file of that name is in the way"


def folder_error(error: OSError | sqlite3.Error, folder: Path, what: str) -> StorageError:
    """The sentence where `what` ("the backup") can't be written into a folder; nothing of it is left there."""
    name = folder.name or str(folder)
    code = getattr(error, "sqlite_errorname", None) or ""
    number = getattr(error, "errno", None)
    if number in _NO_ROOM or code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StorageError(
            f"the disk that holds {name!r} is full, and {what} needs more room; free some and try again"
        )
    if number in _NOT_ALLOWED or code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StorageError(f"{what} can't be written to {name!r}: it's read-only; choose another folder")
    if number in (errno.EEXIST, errno.ENOTDIR):
        return StorageError(f"{what} can't be written to {name!r}: a file is in the way; choose another folder")
    return StorageError(f"{what} can't be written to {name!r}: {getattr(error, 'strerror', None) or error}")
