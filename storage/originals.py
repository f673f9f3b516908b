"""Which original files are still needed: those of texts, and those that a job which isn't done will read."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from storage.tables import jobs, texts


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
