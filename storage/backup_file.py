"""The zip file of a backup: the database, the originals, and a manifest with their checksums. Nothing else is in it.

    manifest.json   {"format": 1, "files": {"footnote.db": {"sha256": …, "size": …}, …}, "counts": {"documents": …}}

What comes from outside is not trusted: names are the few that there can be, sizes are watched while it's unpacked, an
original has to have the hash that it's called by, and the counts are for people: a restore counts anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from core.errors import StorageError
from storage.database import FILE_NAME

_FORMAT = 1
_MANIFEST = "manifest.json"
_MEMBER = re.compile(r"footnote\.db|originals/([0-9a-f]{2})/(\1[0-9a-f]{62})")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE = 1 << 20
_MOST_MANIFEST_BYTES = 256 << 20  # some 2 million files


def pack(path: Path, database_copy: Path, originals: Iterable[tuple[str, Path]], counts: Mapping[str, int]) -> dict:
    """Write the new file `path`, down to the disk; returns the counts and how many originals are in it ("files").

    originals  (hash, where it is); one whose bytes are others by now is left out
    """
    files: dict[str, Any] = {}
    # Of a database the vectors are most, and hardly shrink however long one tries.
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        files[FILE_NAME] = _add(archive, FILE_NAME, database_copy)
        for content_hash, original in originals:
            if _sha256(original) == content_hash:
                name = f"originals/{content_hash[:2]}/{content_hash}"
                files[name] = _add(archive, name, original)
        counts = {**counts, "files": len(files) - 1}
        archive.writestr(_MANIFEST, json.dumps({"format": _FORMAT, "files": files, "counts": counts}, indent=1))
    with path.open("rb+") as written:
        os.fsync(written.fileno())
    return counts


def verify(path: Path) -> None:
    """Read all of it back. raises StorageError where it isn't what was written"""
    with _opened(path) as (archive, manifest):
        for name, expected in manifest["files"].items():
            _copy(archive, name, expected, None, path.name)


def unpack(path: Path, folder: Path) -> None:
    """Into a folder of its own. raises StorageError (damaged, foreign, hostile, too large)"""
    with _opened(path) as (archive, manifest):
        _refuse_what_is_too_large(manifest, folder, path)
        for name, expected in manifest["files"].items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as stream:
                _copy(archive, name, expected, stream, path.name)
                stream.flush()
                os.fsync(stream.fileno())


def no_backup(name: str, why: str) -> StorageError:
    return StorageError(f"{name!r} is no whole backup ({why}); nothing was restored")


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    original = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    original.compress_type = zipfile.ZIP_STORED  # mostly they're packed already
    member = name if name == FILE_NAME else original
    with path.open("rb") as source, archive.open(member, "w", force_zip64=True) as packed:
        while piece := source.read(_PIECE):
            digest.update(piece)
            packed.write(piece)
            size += len(piece)
    return {"sha256": digest.hexdigest(), "size": size}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, Mapping[str, Any]]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if other := [member for member in archive.infolist() if member.compress_type not in _PACKED]:
                raise no_backup(path.name, f"{other[0].filename!r} in it is packed in another way")
            yield archive, _manifest(archive, path.name)
    except FileNotFoundError:
        raise StorageError(f"there is no backup {path.name!r}") from None
    except IsADirectoryError:
        raise StorageError(f"{path.name!r} is a folder; name the backup's file") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise no_backup(path.name, str(error)) from error


def _manifest(archive: zipfile.ZipFile, name: str) -> Mapping[str, Any]:
    try:
        with archive.open(_MANIFEST) as packed:
            manifest = json.loads(packed.read(_MOST_MANIFEST_BYTES))
        if manifest["format"] != _FORMAT:
            raise StorageError(f"{name!r} is a backup of another format ({manifest['format']}); use a newer Footnote")
        members = dict(manifest["files"])
        # Only names that a backup can hold: nothing is ever written outside the folder.
        odd = [member for member in members if not _MEMBER.fullmatch(member)]
        fits = all(_is_description(member, described) for member, described in members.items())
        if odd or not fits or FILE_NAME not in members:
            raise ValueError(f"its list of files is wrong {odd[:1]}")
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise no_backup(name, str(error)) from error
    return manifest


def _is_description(name: str, described: Mapping[str, Any]) -> bool:
    """An original is called by its hash; whoever puts other bytes under it is found out here."""
    size, digest = described["size"], described["sha256"]
    if not isinstance(size, int) or size < 0 or not isinstance(digest, str):
        return False
    return name == FILE_NAME or digest == name.rpartition("/")[2]


def _refuse_what_is_too_large(manifest: Mapping[str, Any], folder: Path, backup: Path) -> None:
    sizes = {name: described["size"] for name, described in manifest["files"].items()}
    # Originals lie in it as they are: together they can't be larger than the file itself.
    if sum(size for name, size in sizes.items() if name != FILE_NAME) > backup.stat().st_size:
        raise no_backup(backup.name, "it says to hold more than it can")
    free = shutil.disk_usage(folder).free
    if sum(sizes.values()) > free:
        needed = f"{sum(sizes.values()) / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free"
        raise StorageError(f"the disk has no room for what is in {backup.name!r}: it needs {needed}; free some space")


def _copy(
    archive: zipfile.ZipFile, name: str, expected: Mapping[str, Any], target: BinaryIO | None, backup_name: str
) -> None:
    digest, left = hashlib.sha256(), expected["size"]
    try:
        with archive.open(name) as packed:
            # One byte more than promised is enough to know; a bomb isn't unpacked.
            while left >= 0 and (piece := packed.read(min(_PIECE, left + 1))):
                digest.update(piece)
                left -= len(piece)
                if target is not None and left >= 0:
                    target.write(piece)
    except KeyError:
        raise no_backup(backup_name, f"{name} is missing") from None
    if left != 0 or digest.hexdigest() != expected["sha256"]:
        raise no_backup(backup_name, f"{name} is damaged")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
