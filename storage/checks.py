"""What `check` looks at: one function a question, each yielding what it found. None of them changes anything.

The truth is the database; an original that is gone or a wrong slice can't be mended from it, the rest can.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from core.records import Problem
from storage.database import Database
from storage.embedding_stores.index_file import read_header
from storage.files import SWEEP_AFTER_S, LocalFileStore
from storage.generation import Generation, current
from storage.model_rows import model_row
from storage.originals import needed_hashes, referenced_hashes
from storage.tables import documents, embedding_models, generations, is_visible, jobs, segments, texts, vectors
from storage.text_parts import whole_text
from storage.text_use import half_visible_texts, orphan_texts
from storage.vectors import from_blobs

# A lease that ran out this long ago isn't one of a process that was killed a moment ago.
STALE_AFTER_S = 3600.0


def sqlite_itself(connection: Connection) -> Iterator[Problem]:
    try:
        found = connection.execute(text("PRAGMA integrity_check(5)")).scalars().all()
    except DBAPIError as error:  # too damaged to be gone through
        found = [str(error.orig)]
    if found != ["ok"]:
        yield Problem("damaged_database", f"the database is damaged ({found[0]}); restore a backup", repairable=False)
        return
    broken = connection.execute(text("PRAGMA foreign_key_check")).all()
    if broken:
        yield Problem("dangling_row", f"{len(broken)} rows refer to others that are gone, first in {broken[0][0]!r}")


def texts_and_documents(connection: Connection) -> Iterator[Problem]:
    if orphans := orphan_texts(connection):
        yield Problem("orphan_text", f"{len(orphans)} texts belong to no document")
    if wrong := half_visible_texts(connection):
        yield Problem("half_visible", f"{len(wrong)} texts are found and shouldn't be, or can't be found wholly")
    without = connection.execute(
        select(documents.c.name).where(~select(segments.c.id).where(segments.c.text_id == documents.c.text_id).exists())
    ).scalars()
    for name in without:
        yield Problem("no_segments", f"{name!r} has no segments and can't be found; re-index it", repairable=False)


def vectors_of_model(connection: Connection, model_id: str, *, can_embed: bool) -> Iterator[Problem]:
    missing = connection.execute(
        select(texts.c.id, func.count(segments.c.id.distinct()), func.min(documents.c.name))
        .select_from(segments)
        .join(texts)
        .join(documents, documents.c.text_id == texts.c.id)
        .where(
            segments.c.id.not_in(
                select(vectors.c.segment_id).join(embedding_models).where(embedding_models.c.name == model_id)
            )
        )
        .group_by(texts.c.id)
    ).all()
    for _, count, name in missing:
        sentence = f"{count} segments of {name!r} have no vector by {model_id!r}"
        yield Problem("missing_vectors", sentence + ("" if can_embed else "; re-index it"), repairable=can_embed)


def damaged_vectors(connection: Connection, *, full: bool) -> Iterator[Problem]:
    bad = damaged_vector_ids(connection, full=full)
    if bad:
        yield Problem("damaged_vectors", f"{len(bad)} vectors have the wrong size, or are not of length 1")


def damaged_vector_ids(connection: Connection, *, full: bool) -> list[tuple[int, int]]:
    """(segment id, model row id) of vectors that no search should meet. Only a full look reads their numbers."""
    found: list[tuple[int, int]] = []
    for model in connection.execute(select(embedding_models)).all():
        of_model = vectors.c.model_id == model.id
        fits = func.length(vectors.c.vector) == 4 * model.dimension
        wrong = connection.execute(select(vectors.c.segment_id).where(of_model, ~fits)).scalars()
        found += [(segment_id, model.id) for segment_id in wrong]
        if not full:
            continue
        for rows in connection.execute(select(vectors.c.segment_id, vectors.c.vector).where(of_model, fits)).partitions(
            10_000
        ):
            lengths = np.linalg.norm(from_blobs([row.vector for row in rows], model.dimension), axis=1)
            off = ~(np.abs(lengths - 1) < 1e-3)  # so written, NaN counts as off
            found += [(rows[place].segment_id, model.id) for place in np.flatnonzero(off)]
    return found


def keyword_index(database: Database, *, full: bool) -> Iterator[Problem]:
    with database.read() as connection:
        held = connection.execute(text("SELECT count(*) FROM segments_fts_docsize")).scalar_one()
        wanted = connection.execute(select(func.count()).select_from(segments)).scalar_one()
    if held != wanted:
        yield Problem("keyword_index", f"the keyword index holds {held} segments, and there are {wanted}")
    elif full:
        with database.write() as connection:
            try:
                # The form that also compares with the content table; it needs a write transaction and writes nothing.
                connection.execute(text("INSERT INTO segments_fts (segments_fts, rank) VALUES ('integrity-check', 1)"))
            except DBAPIError as error:
                yield Problem("keyword_index", f"the keyword index doesn't hold the segments' words ({error.orig})")


def slices(connection: Connection) -> Iterator[Problem]:
    """Each segment of a document is the exact slice that its offsets name."""
    query = (
        select(segments.c.text_id, segments.c.start, segments.c.stop, segments.c.text)
        .where(segments.c.text_id.is_not(None), segments.c.start.is_not(None))
        .order_by(segments.c.text_id)
    )
    text_id, whole, wrong = None, "", {}
    for row in connection.execute(query):
        if row.text_id != text_id:
            text_id = row.text_id
            whole, _ = whole_text(connection, text_id)
        if whole[row.start : row.stop] != row.text:
            wrong[text_id] = wrong.get(text_id, 0) + 1
    for text_id, count in wrong.items():
        name = connection.execute(select(func.min(documents.c.name)).where(documents.c.text_id == text_id)).scalar()
        yield Problem(
            "wrong_slices", f"{count} segments of {name!r} are not where they say; re-index it", repairable=False
        )


def originals(connection: Connection, files: LocalFileStore, *, full: bool) -> Iterator[Problem]:
    there = set(files.hashes())
    for content_hash in sorted(referenced_hashes(connection)):
        name = None
        if content_hash not in there:
            name, what = _name_of(connection, content_hash), "is gone"
        elif full and not files.is_intact(content_hash):
            name, what = _name_of(connection, content_hash), "is damaged"
        if name is not None:
            sentence = f"the original file of {name!r} {what}; it's still searchable, add the file again"
            yield Problem("missing_original" if "gone" in what else "damaged_original", sentence, repairable=False)
    orphans = [found for found in there - needed_hashes(connection) if files.age_s(found) > SWEEP_AFTER_S]
    leftovers = files.unfinished()
    if orphans or leftovers:
        sentence = f"{len(orphans) + leftovers} files in the data folder belong to nothing"
        yield Problem("orphan_files", sentence + ("; a repair moves them to its folder 'unused'" if orphans else ""))


def index_files(database: Database, connection: Connection) -> Iterator[Problem]:
    """An index file may be behind, it catches up; but it mustn't claim to be what it isn't."""
    now = current(connection)
    for path in sorted((database.data_dir / "index").glob("*.faiss")):
        try:
            header = read_header(path)
        except (OSError, ValueError) as error:
            yield Problem("index_file", f"the index file {path.name} is damaged ({error})")
            continue
        made_at = Generation(header.generation, header.stamp)
        stamp = connection.execute(select(generations.c.stamp).where(generations.c.id == made_at.number)).scalar()
        model = model_row(connection, header.model)
        if stamp != made_at.stamp or model is None or model.dimension != header.dimension:
            yield Problem("index_file", f"the index file {path.name} was made from another database")
        elif made_at == now and header.count != _count_vectors(connection, header.store, model.id):
            yield Problem("index_file", f"the index file {path.name} holds {header.count} vectors, not what there is")


def stale_jobs(connection: Connection) -> Iterator[Problem]:
    limit = time.time() - STALE_AFTER_S
    names = connection.execute(
        select(jobs.c.name).where(jobs.c.state == "running", jobs.c.lease_until < limit)
    ).scalars()
    for name in names:
        yield Problem("stale_job", f"the job for {name!r} was left by a process that is gone")


def _count_vectors(connection: Connection, store: str, model_row_id: int) -> int:
    query = select(func.count()).select_from(vectors).join(segments)
    return connection.execute(
        query.where(segments.c.store == store, vectors.c.model_id == model_row_id, is_visible)
    ).scalar_one()


def _name_of(connection: Connection, content_hash: str) -> str:
    query = select(func.min(documents.c.name)).join(texts).where(texts.c.content_hash == content_hash)
    return connection.execute(query).scalar() or content_hash[:12]
