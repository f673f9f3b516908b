"""The library: documents, collections, and files on their way in. Calls return at once; the work is done by jobs."""

from __future__ import annotations

import io
import logging
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from core.domain import Document
from core.errors import DocumentError, StorageError
from core.loaders.files import source_of
from core.protocols import DocumentStore, FileStore, JobStore
from core.records import (
    DEFAULT_COLLECTION,
    CollectionRecord,
    DeletedDocument,
    DocumentRecord,
    JobRecord,
    OnConflict,
    SegmentRecord,
)
from core.text.file_names import collection_name, display_name

logger = logging.getLogger(__name__)

INGEST, REINDEX = "ingest", "reindex"
_ACTIVE = ("waiting", "running")
_MOST_JOBS, _MOST_JOBS_OF_A_BATCH = 500, 100_000
_MB = 1_000_000


class LibraryService:
    """What a person does with documents.

    max_file_mb  larger files are refused before anything is kept
    undo_hours   how long a deleted document can be brought back; 0: not at all
    wake         called after a job was added, stopped or retried, so that indexing looks at once
    """

    def __init__(
        self,
        documents: DocumentStore,
        files: FileStore,
        jobs: JobStore,
        *,
        max_file_mb: int = 200,
        undo_hours: int = 24,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._documents, self._files, self._jobs = documents, files, jobs
        self._max_bytes = max_file_mb * _MB
        self._undo_s = undo_hours * 3600.0
        self._wake = wake

    # ── in ──

    def add_bytes(
        self,
        name: str,
        data: bytes | BinaryIO,
        *,
        collection: str = DEFAULT_COLLECTION,
        source: str | None = None,
        on_conflict: OnConflict = "keep_both",
        password: str | None = None,
        batch: str = "",
    ) -> JobRecord:
        """Keep the original, then the job that indexes it; both survive a kill from here on.

        data         bytes, or an open binary file, which is read in pieces from where it stands
        source       where it's from; None: `upload:<name>`
        on_conflict  for other content from the same source: "keep_both" numbers the new one, "replace" replaces
        raises       ConfigError (the collection's name); DocumentError for a file that is too large; StorageError (disk
                     full …), and nothing is queued
        """
        collection, shown = collection_name(collection), display_name(name)
        stream = data if hasattr(data, "read") else io.BytesIO(data)
        limited = _LimitedStream(stream, self._max_bytes, shown)
        content_hash = self._files.put(limited)
        payload = {
            "content_hash": content_hash,
            "name": name,
            "size": limited.size,
            "source": f"upload:{name}" if source is None else source,
            "collection": collection,
            "on_conflict": on_conflict,
        }
        if password:
            payload["password"] = password
        return self._added(INGEST, shown, payload, batch)

    def add_path(
        self,
        path: Path,
        *,
        collection: str = DEFAULT_COLLECTION,
        password: str | None = None,
        batch: str = "",
    ) -> JobRecord:
        """A file on disk; its path (`source_of`) is its source, and a changed file replaces what was indexed of it.

        raises  DocumentError for a file that can't be read or is too large
        """
        path = source_of(path)
        shown = display_name(path.name)
        try:
            if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
                raise DocumentError(f"{shown!r} isn't a regular file; only files can be read", file_name=shown)
            with path.open("rb") as file:
                return self.add_bytes(
                    path.name,
                    file,
                    collection=collection,
                    source=str(path),
                    on_conflict="replace",
                    password=password,
                    batch=batch,
                )
        except FileNotFoundError:
            raise DocumentError(f"{shown!r} doesn't exist; check the path", file_name=shown) from None
        except IsADirectoryError:
            raise DocumentError(f"{shown!r} is a folder, not a file; add the files in it", file_name=shown) from None
        except PermissionError:
            raise DocumentError(f"{shown!r} can't be read: permission denied", file_name=shown) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DocumentError(f"{shown!r} can't be read: {reason}; check the path", file_name=shown) from None

    def reindex(self, document_id: int) -> JobRecord:
        """Read and embed the kept original again. The present version stays searchable until the new one is saved."""
        record = self._documents.get(document_id)
        payload = {
            "content_hash": record.content_hash,
            "name": record.name,
            "size": record.size,
            "source": record.source,
            "collection": record.collection,
            "on_conflict": "replace",
            "document_id": document_id,
        }
        return self._added(REINDEX, record.name, payload, "")

    # ── jobs ──

    def jobs(self, *, batch: str | None = None, active_only: bool = False) -> list[JobRecord]:
        """Newest first; without a batch at most the last 500."""
        states = _ACTIVE if active_only else ()
        limit = _MOST_JOBS if batch is None else _MOST_JOBS_OF_A_BATCH
        return self._jobs.list(states=states, batch=batch, limit=limit)

    def stop_job(self, job_id: int) -> None:
        """A waiting job stops now, a running one within a second or two; nothing of it is kept in the index."""
        self._jobs.request_stop(job_id)
        self._wake()

    def retry_job(self, job_id: int, password: str | None = None) -> JobRecord:
        job = self._jobs.retry(job_id, {"password": password} if password else None)
        self._wake()
        return job

    def clear_ended_jobs(self) -> int:
        return self._jobs.clear_ended()

    # ── what is there ──

    def documents(
        self, *, collection: str | None = None, search: str = "", limit: int | None = None, offset: int = 0
    ) -> list[DocumentRecord]:
        return self._documents.list(collection=collection, search=search, limit=limit, offset=offset)

    def document(self, document_id: int) -> DocumentRecord:
        return self._documents.get(document_id)

    def document_text(self, document_id: int) -> Document:
        return self._documents.text(document_id)

    def segments(self, document_id: int, *, limit: int | None = None, offset: int = 0) -> list[SegmentRecord]:
        """In order; of a long document a page shows some at a time."""
        return self._documents.segments(document_id, limit=limit, offset=offset)

    def segment(self, segment_id: str) -> SegmentRecord:
        return self._documents.segment(segment_id)

    def original(self, document_id: int) -> tuple[str, bytes]:
        """(name, bytes) of the file as it was added."""
        record = self._documents.get(document_id)
        return record.name, self._files.read(record.content_hash)

    # ── out, and back ──

    def delete(self, document_id: int) -> DocumentRecord:
        """Gone from every search at once; `undelete` brings it back for `undo_hours`."""
        record = self._documents.delete(document_id)
        self.sweep_deleted()
        return record

    @property
    def undo_hours(self) -> float:
        """So long a deleted document can be brought back; 0: it's gone at once."""
        return self._undo_s / 3600

    def deleted(self) -> list[DeletedDocument]:
        """What can be brought back, newest first."""
        try:
            self.sweep_deleted()
        except StorageError as error:  # on a full disk it can still be looked at
            logger.warning("what was deleted long ago could not be purged: %s", error)
        return self._documents.deleted()

    def undelete(self, document_id: int) -> DocumentRecord:
        """As it was, with its id.

        raises NotFoundError (its time is over, too), ConfigError (another document has its source by now)
        """
        self.sweep_deleted()
        return self._documents.undelete(document_id)

    def purge_deleted(self, document_ids: Sequence[int] | None = None) -> int:
        """For good, the originals too: these, or all that were deleted. Returns how many documents."""
        return self._documents.purge_deleted(document_ids=document_ids)

    def sweep_deleted(self) -> int:
        """For good what was deleted more than `undo_hours` ago; cheap where there is nothing."""
        return self._documents.purge_deleted(older_than_s=self._undo_s)

    # ── collections ──

    def collections(self) -> list[CollectionRecord]:
        return self._documents.collections()

    def add_collection(self, name: str) -> CollectionRecord:
        return self._documents.add_collection(collection_name(name))

    def rename_collection(self, name: str, new_name: str) -> None:
        self._documents.rename_collection(name, collection_name(new_name))

    def delete_collection(self, name: str) -> int:
        """Deletes it with its documents, each of which can be brought back; returns how many."""
        count = self._documents.delete_collection(name)
        self.sweep_deleted()
        return count

    def _added(self, kind: str, name: str, payload: dict, batch: str) -> JobRecord:
        job = self._jobs.add(kind, name, payload, batch=batch)
        self._wake()
        return job


class _LimitedStream:
    """Reads on until the limit is passed, so that a stream of unknown length is refused in time. `size`: bytes read."""

    def __init__(self, stream: BinaryIO, limit: int, name: str) -> None:
        self._stream, self._limit, self._name = stream, limit, name
        self.size = 0
        if stream.seekable():
            here = stream.tell()
            self._refuse_above_limit(stream.seek(0, io.SEEK_END) - here)
            stream.seek(here)

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self.size += len(piece)
        self._refuse_above_limit(self.size)
        return piece

    def _refuse_above_limit(self, size: int) -> None:
        if size > self._limit:
            raise DocumentError(
                f"{self._name!r} is larger than the limit of {self._limit // _MB} MB (max_file_mb); split it into "
                "smaller files or raise the limit in the settings",
                file_name=self._name,
            )
