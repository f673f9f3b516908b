"""Index files are caches: one may be missing or behind, it catches up; but it mustn't claim to be what it isn't."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, func, select

from core.records import Problem
from storage.database import Database
from storage.embedding_stores.index_file import read_header
from storage.generation import Generation, current
from storage.model_rows import model_row
from storage.postings_file import PostingsHeader, read_postings_header
from storage.tables import generations, is_visible, segments, vectors


def index_files(database: Database, connection: Connection, *, full: bool) -> Iterator[Problem]:
    """Only a full look reads them; a search that reads a damaged one builds it anew by itself."""
    folder = database.data_dir / "index"
    if folder.exists() and not folder.is_dir():
        yield Problem("index_file", "a file named 'index' is where the folder of the index files should be")
        return
    for path in _files(folder):
        if not path.is_file():
            yield Problem("index_file", f"a folder named {path.name} is where an index file should be")
        elif full:
            yield from _of_another_index(connection, path)
        elif not path.stat().st_size:
            yield Problem("index_file", f"the index file {path.name} is empty")


def remove_index_files(database: Database) -> None:
    """All of them: the next search builds what it needs. What somebody else put in their place is moved aside."""
    folder = database.data_dir / "index"
    for path in [folder] if folder.exists() and not folder.is_dir() else _files(folder):
        if path.is_file() and path != folder:
            path.unlink(missing_ok=True)
        else:
            aside = database.data_dir / "unused"
            aside.mkdir(exist_ok=True)
            os.replace(path, aside / f"{path.name}-{uuid.uuid4().hex[:8]}")


def _files(folder: Path) -> list[Path]:
    """Of vectors, and of keywords."""
    return sorted([*folder.glob("*.faiss"), *folder.glob("*.postings")])


def _of_another_index(connection: Connection, path: Path) -> Iterator[Problem]:
    try:
        header = read_header(path) if path.suffix == ".faiss" else read_postings_header(path)
    except FileNotFoundError:  # renamed over, just now
        return
    except (OSError, ValueError) as error:
        yield Problem("index_file", f"the index file {path.name} is damaged ({error})")
        return
    made_at = Generation(header.generation, header.stamp)
    stamp = connection.execute(select(generations.c.stamp).where(generations.c.id == made_at.number)).scalar()
    if isinstance(header, PostingsHeader):
        if stamp != made_at.stamp:
            yield Problem("index_file", f"the index file {path.name} was made from another database")
        return
    model = model_row(connection, header.model)
    if stamp != made_at.stamp or model is None or model.dimension != header.dimension:
        yield Problem("index_file", f"the index file {path.name} was made from another database")
    elif made_at == current(connection) and header.count != _count_vectors(connection, header.store, model.id):
        yield Problem("index_file", f"the index file {path.name} holds {header.count} vectors, not what there is")


def _count_vectors(connection: Connection, store: str, model_row_id: int) -> int:
    query = select(func.count()).select_from(vectors).join(segments).where(is_visible)
    return connection.execute(query.where(segments.c.store == store, vectors.c.model_id == model_row_id)).scalar_one()
