"""Original files by the SHA-256 of their bytes: `originals/ab/ab34…`. No name on disk is one that people chose."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import logging
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from core.errors import NotFoundError, StorageError
from storage.database import no_fault
from storage.database_errors import file_error

logger = logging.getLogger(__name__)

_PIECE = 1 << 20
_HASH = re.compile(r"[0-9a-f]{64}")
SWEEP_AFTER_S = 600.0
# A backup of a large library may take hours.
_HELD_S = 24 * 3600.0


class LocalFileStore:
    """Originals in the data folder. A file is there wholly or not at all; memory holds one piece of it at a time.

    fault  called with a name at each step of a change; see `storage.database.no_fault`
    """

    def __init__(self, data_dir: Path, *, fault: Callable[[str], None] = no_fault) -> None:
        self.folder = Path(data_dir).absolute() / "originals"
        self._unfinished = self.folder / "unfinished"
        self._held = self.folder / "held"
        self._unused = self.folder.with_name("unused")
        self._data_name = Path(data_dir).absolute().name
        self._fault = fault

    def put(self, data: bytes | BinaryIO) -> str:
        """Keep the bytes and return their hash. What is there already is written anew, which mends a damaged file.

        raises  StorageError (disk full, not writable); nothing is left behind
        """
        stream = io.BytesIO(data) if isinstance(data, bytes | bytearray | memoryview) else data
        with self._errors():
            self._unfinished.mkdir(parents=True, exist_ok=True)
            temporary = self._unfinished / uuid.uuid4().hex
            try:
                content_hash = _write(stream, temporary, self._fault)
                target = self._path(content_hash)
                target.parent.mkdir(exist_ok=True)
                os.replace(temporary, target)
                self._fault("original renamed")
            finally:
                temporary.unlink(missing_ok=True)
            # The name is durable only when its folder is, and the folder when its own parent is.
            sync_folder(target.parent)
            sync_folder(self.folder)
        self._fault("original put")
        return content_hash

    def read(self, content_hash: str) -> bytes:
        with self._errors():
            try:
                return self._path(content_hash).read_bytes()
            except FileNotFoundError:
                raise _gone(content_hash) from None

    def path(self, content_hash: str) -> Path:
        path = self._path(content_hash)
        if not path.is_file():
            raise _gone(content_hash)
        return path

    def hashes(self) -> Iterator[str]:
        """Of all files that are there, in no order."""
        for path in self.folder.glob("[0-9a-f][0-9a-f]/*"):
            if _HASH.fullmatch(path.name):
                yield path.name

    def has(self, content_hash: str) -> bool:
        return self._path(content_hash).is_file()

    def is_intact(self, content_hash: str) -> bool:
        """Whether the file is there and its bytes still have this hash."""
        try:
            with self._path(content_hash).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest() == content_hash
        except OSError:
            return False

    def age_s(self, content_hash: str) -> float:
        """Seconds since the file was put; 0 where it's gone."""
        try:
            return max(0.0, time.time() - self._path(content_hash).stat().st_mtime)
        except FileNotFoundError:
            return 0.0

    def unfinished(self) -> int:
        """How many files a crash has left half written: those that nobody can be writing any more."""
        return len(list(self._left_behind(SWEEP_AFTER_S)))

    def remove(self, content_hash: str, *, unless_put_after: float) -> bool:
        """Delete a file, unless somebody has put it again since that time. Returns whether it's gone."""
        path = self._path(content_hash)
        with self._errors():
            try:
                if path.stat().st_mtime > unless_put_after:
                    return False
                path.unlink()
                self._fault("original file removed")
            except FileNotFoundError:
                pass
        return True

    def sweep(self, *, older_than_s: float = SWEEP_AFTER_S) -> int:
        """Delete the unfinished files that a crash left; young ones may still be written. Returns how many."""
        swept = 0
        with self._errors():
            for path in self._left_behind(older_than_s):
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    swept += 1
        return swept

    @contextlib.contextmanager
    def held(self, content_hashes: Iterable[str]) -> Iterator[Path]:
        """A folder with these originals by their hash, as second names: they stay until the end, whoever deletes them.

        Those that are gone are left out; all are where the disk knows no second names.
        """
        folder = self._held / uuid.uuid4().hex
        try:
            with self._errors():
                folder.mkdir(parents=True)
            for content_hash in content_hashes:
                with contextlib.suppress(OSError):
                    os.link(self._path(content_hash), folder / content_hash)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def set_damaged_aside(self, content_hash: str) -> bool:
        """Move an original whose bytes aren't its own to `unused`, marked as damaged. Returns whether there was one."""
        path = self._path(content_hash)
        if not path.exists() or self.is_intact(content_hash):
            return False
        with self._errors():
            self._unused.mkdir(exist_ok=True)
            os.replace(path, self._unused / f"{content_hash}.damaged-{uuid.uuid4().hex[:8]}")
        return True

    def set_aside(self, needed: Container[str], *, older_than_s: float = SWEEP_AFTER_S) -> int:
        """Move originals whose hash isn't needed to the folder `unused`. Returns how many.

        Never deleted: they may be all that is left of a library whose database was lost. Young ones stay: their row may
        be about to be written.
        """
        limit, moved = time.time() - older_than_s, 0
        for content_hash in list(self.hashes()):
            path = self._path(content_hash)
            with self._errors(), contextlib.suppress(FileNotFoundError):
                if content_hash not in needed and path.stat().st_mtime < limit:
                    self._unused.mkdir(exist_ok=True)
                    os.replace(path, self._unused / content_hash)
                    self._fault("unused original moved")
                    moved += 1
        if moved:
            sync_folder(self._unused)
            logger.warning("moved %d files that belong to nothing to the folder %r", moved, self._unused.name)
        return moved

    def _left_behind(self, older_than_s: float) -> Iterator[Path]:
        """What a crash left half written, here and in the folders beside; young ones may still be written."""
        beside = self.folder.parent
        half = (self._unfinished.glob("*"), beside.glob("index/*.tmp"), beside.glob("backups/*.tmp"))
        for age_s, paths in ((older_than_s, itertools.chain(*half)), (_HELD_S, self._held.glob("*"))):
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_mtime < time.time() - age_s:
                        yield path

    def _path(self, content_hash: str) -> Path:
        if not is_hash(content_hash):
            raise StorageError(f"{content_hash!r} is not the SHA-256 of a file")
        return self.folder / content_hash[:2] / content_hash

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise file_error(error, self._data_name) from error


def is_hash(value: object) -> bool:
    """Whether it's what an original can be called by."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def write_whole(path: Path, data: bytes | memoryview, *, fault: Callable[[str], None] = no_fault) -> None:
    """Write a file so that a reader, or a crash, sees the old one or the new one and nothing between."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _write(io.BytesIO(data), temporary, fault)
        os.replace(temporary, path)
        fault("file renamed")
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder can't be opened, and the rename is durable by itself
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(stream: BinaryIO, path: Path, fault: Callable[[str], None]) -> str:
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            file.write(piece)
        fault("file written")
        file.flush()
        os.fsync(file.fileno())
    fault("file synced")
    return digest.hexdigest()


def _gone(content_hash: str) -> NotFoundError:
    return NotFoundError(f"the original file {content_hash[:12]}… is gone from the data folder; add the file again")
