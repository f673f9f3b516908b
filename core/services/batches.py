"""Many places at once for the command line: files, folders and web addresses become jobs, and each ended job a row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from core.errors import DocumentError
from core.loaders.files import find_files, source_of
from core.loaders.url import fetch_url, is_address
from core.records import JOB_ENDED
from core.services.indexing import IndexingService
from core.services.library import LibraryService
from core.services.pruning import gone
from core.services.rows import Row, ingest_row
from core.settings import Settings

_LOOK_EVERY_S = 0.2


class BatchService:
    def __init__(self, settings: Settings, library: LibraryService, indexing: IndexingService) -> None:
        self._settings, self._library, self._indexing = settings, library, indexing

    def ingest(
        self,
        places: Sequence[str],
        *,
        collection: str,
        recursive: bool = False,
        glob: str | None = None,
        password: str | None = None,
        prune: bool = False,
    ) -> Iterator[Row]:
        """Index everything; yields a row (`core.services.rows.ingest_row`) as each file ends, in the order they end.

        recursive  folders with all that is below them
        glob       on the path inside the folder; one with "/" or "**" means what is below it too
        prune      documents whose files are gone from the named folders are removed, and yielded as "removed"
        """
        batch = uuid4().hex
        recursive = recursive or (glob is not None and ("/" in glob or "**" in glob))
        folders = []
        for place in places:
            path = Path(place)
            try:
                if is_address(place):
                    self._add_url(place, collection, batch)
                elif os.path.isdir(place):  # raises for no text, however odd
                    folders.append(path)
                    for file in find_files(path, recursive=recursive, glob=glob):
                        yield from self._add_path(file, collection, password, batch)
                else:
                    yield from self._add_path(path, collection, password, batch)
            except DocumentError as error:
                yield _failed(place, error)
        if self._library.jobs(batch=batch):
            self._indexing.start(load_model=False)
            yield from self._ended(batch)
        if prune:
            yield from self._prune(folders, collection)

    def _add_path(self, path: Path, collection: str, password: str | None, batch: str) -> Iterator[Row]:
        try:
            self._library.add_path(path, collection=collection, password=password, batch=batch)
        except DocumentError as error:
            yield _failed(str(source_of(path)), error)

    def _add_url(self, url: str, collection: str, batch: str) -> None:
        allowed = [name.strip() for name in self._settings.allowed_hosts.split(",") if name.strip()]
        fetched = fetch_url(url, max_bytes=self._settings.max_file_mb * 1_000_000, allowed_hosts=allowed)
        self._library.add_bytes(
            fetched.name, fetched.data, collection=collection, source=url, on_conflict="replace", batch=batch
        )

    def _ended(self, batch: str) -> Iterator[Row]:
        seen: set[int] = set()
        while True:
            jobs = self._library.jobs(batch=batch)
            for job in sorted(jobs, key=lambda job: (job.updated, job.id)):
                if job.state in JOB_ENDED and job.id not in seen:
                    seen.add(job.id)
                    yield ingest_row(job)
            if len(seen) == len(jobs):
                return
            self._indexing.wait_for_an_end(gather_s=_LOOK_EVERY_S)

    def _prune(self, folders: Sequence[Path], collection: str) -> Iterator[Row]:
        for folder in folders:
            try:
                for document in gone(self._library.documents(collection=collection), folder):
                    self._library.delete(document.id)
                    yield {**_row(document.source, "removed"), "document_id": document.id}
            except DocumentError as error:
                yield _failed(str(folder), error)


def _failed(source: str, error: DocumentError) -> Row:
    return {**_row(source, error.status), "error": str(error)}


def _row(source: str, status: str) -> Row:
    return {
        "source": source,
        "document_id": None,
        "status": status,
        "pages": None,
        "segments": 0,
        "warnings": [],
        "note": "",
        "error": "",
        "seconds": 0.0,
        "tokens": 0,
    }
