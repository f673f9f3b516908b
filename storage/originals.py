"""Which original files are still needed: those of texts, and those that a job which isn't done will read.

Texts that are being built, and those of deleted documents that can be brought back, count like all others.
"""

from __future__ import annotations

from sqlalchemy import Connection, Row, delete, func, insert, or_, select

from storage.tables import jobs, superfluous_originals, texts


def is_referenced(connection: Connection, content_hash: str) -> bool:
    by_text = select(texts.c.id).where(texts.c.content_hash == content_hash)
    # A failed or stopped job may be tried again.
    by_job = select(jobs.c.id).where(
        jobs.c.state != "done", func.json_extract(jobs.c.payload, "$.content_hash") == content_hash
    )
    return connection.execute(select(or_(by_text.exists(), by_job.exists()))).scalar_one()


def referenced_hashes(connection: Connection) -> set[str]:
    """Of all originals that must be there for documents."""
    return set(connection.execute(select(texts.c.content_hash).distinct()).scalars())


def needed_hashes(connection: Connection) -> set[str]:
    """Of all originals that mustn't be swept away, those that jobs wait for included."""
    of_jobs = select(func.json_extract(jobs.c.payload, "$.content_hash")).where(jobs.c.state != "done")
    return referenced_hashes(connection) | {found for found in connection.execute(of_jobs).scalars() if found}


def note_superfluous(connection: Connection, content_hash: str, seen: float) -> None:
    """With the commit that takes the last use of an original: it may go, unless it was put again after `seen`."""
    values = {"content_hash": content_hash, "seen": seen}
    connection.execute(insert(superfluous_originals).prefix_with("OR REPLACE").values(**values))


def superfluous(connection: Connection) -> list[Row]:
    """(content_hash, seen) of those that are still to be removed."""
    return list(connection.execute(select(superfluous_originals)))


def forget_superfluous(connection: Connection, content_hash: str) -> None:
    connection.execute(delete(superfluous_originals).where(superfluous_originals.c.content_hash == content_hash))
