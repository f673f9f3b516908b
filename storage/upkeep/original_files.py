"""Originals: each text's is there with its own bytes, and none is there that belongs to nothing.

One that is lost is looked for: where it was read from, in `unused`, in the backups of this folder. Where none has it,
the document stays searchable and says so.
"""

from __future__ import annotations

import hashlib
import logging
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, select

from core.records import Problem
from storage.database import Database
from storage.files import SWEEP_AFTER_S, LocalFileStore
from storage.originals import needed_hashes, referenced_hashes
from storage.tables import deleted_documents, documents, texts
from storage.upkeep.losses import LOST_ORIGINAL, is_said, say, unsay

logger = logging.getLogger(__name__)


# ── found ──


def lost_originals(database: Database, files: LocalFileStore, *, full: bool) -> Iterator[Problem]:
    """Those that are gone, or (a full look) hold other bytes; a document that says so itself is known."""
    for content_hash in _lost(database, files, full=full):
        with database.read() as connection:
            if (found := _unsaid(connection, content_hash)) is None:
                continue
        gone = not files.has(content_hash)
        kind, what = ("missing_original", "is gone") if gone else ("damaged_original", "is damaged")
        sentence = f"the original file of {found[1]!r} {what}; it's still searchable, add the file again"
        yield Problem(kind, sentence, True, found[:1])


def found_originals(connection: Connection, files: LocalFileStore) -> Iterator[Problem]:
    back = _back(connection, files)
    if back:
        yield Problem("found_original", f"{len(back)} documents say that their original is lost, and it's there again")


def files_of_nothing(connection: Connection, files: LocalFileStore) -> Iterator[Problem]:
    needed = needed_hashes(connection)
    orphans = [found for found in files.hashes() if found not in needed and files.age_s(found) > SWEEP_AFTER_S]
    leftovers = files.unfinished()
    if orphans or leftovers:
        sentence = f"{len(orphans) + leftovers} files in the data folder belong to nothing"
        yield Problem("orphan_files", sentence + ("; a repair moves them to its folder 'unused'" if orphans else ""))


# ── mended ──


def bring_back(database: Database, files: LocalFileStore, *, full: bool = True) -> None:
    """Each lost original from wherever its bytes still are; a damaged one is moved aside first."""
    for content_hash in _lost(database, files, full=full):
        files.set_damaged_aside(content_hash)
        if not _copied_back(database, files, content_hash):
            with database.write() as connection:
                say(connection, _text_ids(connection, content_hash), LOST_ORIGINAL)
            logger.warning("an original is lost: %s", content_hash)
    with database.write() as connection:
        unsay(connection, _back(connection, files), LOST_ORIGINAL)


def tidy_files(database: Database, files: LocalFileStore) -> None:
    """Unfinished files go; originals that nothing refers to are moved to `unused`, for a person to look at."""
    files.sweep()
    with database.write() as connection:
        files.set_aside(needed_hashes(connection))


# ── inside ──


def _lost(database: Database, files: LocalFileStore, *, full: bool) -> list[str]:
    with database.read() as connection:
        named = referenced_hashes(connection)
    there = set(files.hashes())
    bad = {found for found in named if found not in there or (full and not files.is_intact(found))}
    if not bad:
        return []
    # A document that was deleted while the files were looked at took its original with it.
    with database.read() as connection:
        return sorted(bad & referenced_hashes(connection))


def _unsaid(connection: Connection, content_hash: str) -> tuple[int, str] | None:
    """(id, name) of the first document with this content, deleted ones too; None where its texts say so themselves."""
    of_content = (texts.c.content_hash == content_hash, ~is_said(LOST_ORIGINAL))
    for table in (documents, deleted_documents):
        query = select(table.c.id, table.c.name).join(texts, table.c.text_id == texts.c.id).where(*of_content)
        if (row := connection.execute(query.order_by(table.c.id).limit(1)).one_or_none()) is not None:
            return row.id, row.name
    return None


def _back(connection: Connection, files: LocalFileStore) -> list[int]:
    query = select(texts.c.id, texts.c.content_hash).where(is_said(LOST_ORIGINAL))
    return [row.id for row in connection.execute(query) if files.has(row.content_hash)]


def _text_ids(connection: Connection, content_hash: str) -> list[int]:
    return list(connection.execute(select(texts.c.id).where(texts.c.content_hash == content_hash)).scalars())


def _copied_back(database: Database, files: LocalFileStore, content_hash: str) -> bool:
    with database.read() as connection:
        query = select(documents.c.source).join(texts).where(texts.c.content_hash == content_hash)
        sources = [Path(source) for source in connection.execute(query).scalars()]
    for path in (*filter(Path.is_absolute, sources), database.data_dir / "unused" / content_hash):
        if _sha256_of(path) == content_hash:
            with path.open("rb") as stream:
                return files.put(stream) == content_hash
    return any(
        _unpacked_from(path, files, content_hash)
        for path in sorted((database.data_dir / "backups").glob("*.zip"), reverse=True)
    )


def _unpacked_from(backup: Path, files: LocalFileStore, content_hash: str) -> bool:
    name = f"originals/{content_hash[:2]}/{content_hash}"
    try:
        with zipfile.ZipFile(backup) as archive:
            with archive.open(name) as packed:
                if hashlib.file_digest(packed, "sha256").hexdigest() != content_hash:
                    return False
            with archive.open(name) as packed:
                return files.put(packed) == content_hash
    except (KeyError, OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        logger.info("%s holds no original %s: %s", backup.name, content_hash[:12], error)
        return False


def _sha256_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""
