"""The real parts of indexing on a data folder, with the hashing model: what a test of the services needs.

As a program, `python -m tests.core.services.indexing_parts DATA SLOW_S FILE…` adds files as one batch and indexes them;
tests kill it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.domain import EmbeddingRequest, EmbeddingResponse
from core.embedding_models import HashingEmbeddingModel
from core.gate import PriorityGate
from core.parsing_worker import ParsingWorker
from core.protocols import EmbeddingModel
from core.services.indexing import IndexingService
from core.services.library import LibraryService
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.jobs import SqliteJobStore


@dataclass(frozen=True)
class SlowModel(HashingEmbeddingModel):
    """Takes its time for each batch, so that something can happen meanwhile. `batches`: the sizes it was given."""

    seconds: float = 0.0
    batches: list[int] = field(default_factory=list)

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse:
        self.batches.append(len(request.inputs))
        time.sleep(self.seconds)
        return super().embed_request(request)


@dataclass(frozen=True)
class Parts:
    database: Database
    documents: SqliteDocumentStore
    files: LocalFileStore
    jobs: SqliteJobStore
    library: LibraryService
    indexing: IndexingService
    gate: PriorityGate

    def run(self, batch: str | None = None) -> list:
        """Indexes all that waits; the ended jobs, oldest first."""
        self.indexing.run_until_idle(batch)
        return sorted(self.library.jobs(batch=batch), key=lambda job: job.id)


@contextmanager
def opened(
    data_dir: Path,
    model: EmbeddingModel | None = None,
    reader: ParsingWorker | None = None,
    max_file_mb: int = 2,
    **options,
) -> Iterator[Parts]:
    with Database(data_dir) as database:
        files = LocalFileStore(data_dir)
        documents, jobs = SqliteDocumentStore(database, files), SqliteJobStore(database)
        gate = PriorityGate()
        settings = {"poll_s": 0.1, "heartbeat_s": 0.3, "lease_s": 5.0} | options
        reader = reader or ParsingWorker(60, 1024)
        indexing = IndexingService(
            documents, files, jobs, reader, model or HashingEmbeddingModel(), gate=gate, **settings
        )
        library = LibraryService(documents, files, jobs, max_file_mb=max_file_mb, wake=indexing.wake)
        try:
            yield Parts(database, documents, files, jobs, library, indexing, gate)
        finally:
            indexing.close()


def main(data_dir: str, slow_s: str, *paths: str) -> None:
    with opened(Path(data_dir), SlowModel(seconds=float(slow_s))) as parts:
        for path in paths:
            parts.library.add_path(Path(path), batch="batch")
        sys.stdout.write("added\n")
        sys.stdout.flush()
        parts.indexing.run_until_idle()


if __name__ == "__main__":
    main(*sys.argv[1:])
