"""What is done with one file, step by step: read and split it, embed it (several small ones together), save it at once.

prepare(job)  -> SaveResult, for bytes that are indexed already, or Prepared
embed([…])    fills in the vectors, batch by batch through the gate
save(…)       -> SaveResult; the one transaction that makes the document visible
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from core.domain import Document, EmbeddingRequest, TextSegment, text_hash
from core.errors import DocumentError, StoppedError
from core.pipeline import Pipeline
from core.protocols import ComputeGate, DocumentStore, EmbeddingModel, FileStore
from core.records import NewDocument, SaveResult
from core.services.library import REINDEX
from core.services.running_jobs import RunningJob
from core.text.terms import index_terms

# Texts in one pass of the gate: with the default model a third of a second, so an answer waits no longer than that.
_TEXTS_AT_ONCE = 16
_READ, _SPLIT, _EMBEDDED = 0.30, 0.35, 0.95  # progress at the end of each step


class FileReader(Protocol):
    """`core.parsing_worker.ParsingWorker`, or anything that reads files as it does."""

    def parse(
        self, source: Any, file_name: str, password: str | None = None, stop: Any = None, progress: Any = None
    ) -> Document: ...

    def close(self) -> None: ...


@dataclass
class Prepared:
    """A file that was read and split; `vectors` is filled in by `embed`, shape (len(segments), dimension)."""

    job: RunningJob
    document: Document
    segments: list[TextSegment]
    pages: int | None
    warnings: tuple[str, ...]
    vectors: np.ndarray | None = None
    tokens: int = 0
    embedded: int = 0
    hashes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.hashes = [text_hash(segment.text_to_embed) for segment in self.segments]


class IndexingSteps:
    def __init__(
        self,
        documents: DocumentStore,
        files: FileStore,
        reader: FileReader,
        model: EmbeddingModel,
        gate: ComputeGate,
        pipeline: Pipeline,
        before_reading: Callable[[], None] = lambda: None,
    ) -> None:
        self._documents, self._files, self._reader = documents, files, reader
        self._model, self._gate, self._pipeline = model, gate, pipeline
        self._before_reading = before_reading

    def prepare(self, job: RunningJob, closing: threading.Event) -> SaveResult | Prepared:
        """raises  DocumentError and its kind, ModelError, StoppedError"""
        if job.record.kind == REINDEX:
            self._documents.get(job.record.payload["document_id"])  # deleted meanwhile: NotFoundError
        elif linked := self._linked(job):
            return linked
        self._before_reading()
        document = self._read(job, closing)
        job.report(_READ, "splitting")
        segments = self._pipeline.segments(document, self._model)
        if not segments:
            raise DocumentError(f"{job.record.name!r} holds no text that could be searched", file_name=job.record.name)
        job.report(_SPLIT, "waiting to be embedded")
        notes = document.metadata
        pages, warnings = notes.get_int("pages"), notes.get_string("warnings")
        return Prepared(job, document, segments, pages, tuple(warnings.split("\n")) if warnings else ())

    def embed(self, prepared: Sequence[Prepared], closing: threading.Event) -> None:
        """Vectors that exist already are reused, the others made in batches of similar length.

        A stopped file's `vectors` stay None. raises ModelError, StoppedError when closing
        """
        texts, owners = _texts_and_owners(prepared)
        vectors = self._documents.vectors_for(list(texts), self._model.model_id)
        for known in vectors:
            _count_embedded(owners[known])
        missing = sorted((key for key in texts if key not in vectors), key=lambda key: -len(texts[key]))
        for start in range(0, len(missing), _TEXTS_AT_ONCE):
            batch = [key for key in missing[start : start + _TEXTS_AT_ONCE] if _is_wanted(owners[key])]
            if batch:
                vectors.update(self._embedded(batch, texts, owners, closing))
        for item in prepared:
            if not item.job.stop.is_set():
                item.vectors = np.stack([vectors[key] for key in item.hashes])

    def save(self, item: Prepared) -> SaveResult:
        """raises StoppedError for a file that was stopped before; then nothing is saved"""
        if item.vectors is None or item.job.stop.is_set():
            raise StoppedError(f"indexing {item.job.record.name!r} was stopped")
        payload = item.job.record.payload
        return self._documents.save(
            NewDocument(
                source=payload["source"],
                name=item.job.record.name,
                collection=payload["collection"],
                type=item.document.metadata.get_string("file_type") or "",
                content_hash=payload["content_hash"],
                size=payload["size"],
                document=item.document,
                segments=tuple(item.segments),
                vectors=item.vectors,
                terms=tuple(" ".join(index_terms(segment.text)) for segment in item.segments),
                model_id=self._model.model_id,
                pipeline=self._pipeline.fingerprint(self._model.model_id),
                pages=item.pages,
                warnings=item.warnings,
                on_conflict=payload["on_conflict"],
            )
        )

    def _linked(self, job: RunningJob) -> SaveResult | None:
        payload, model_id = job.record.payload, self._model.model_id
        return self._documents.link_existing(
            source=payload["source"],
            name=job.record.name,
            collection=payload["collection"],
            content_hash=payload["content_hash"],
            size=payload["size"],
            pipeline=self._pipeline.fingerprint(model_id),
            model_id=model_id,
            on_conflict=payload["on_conflict"],
        )

    def _read(self, job: RunningJob, closing: threading.Event) -> Document:
        payload = job.record.payload
        job.report(0.01, "reading")
        document = self._reader.parse(
            self._files.path(payload["content_hash"]),
            payload["name"],
            payload.get("password"),
            stop=_EitherStop(job.stop, closing),
            progress=lambda done, pages: job.report(_READ * done / max(pages, 1), "reading"),
        )
        known = {"file_name": job.record.name, "source": payload["source"]}
        return replace(document, metadata=document.metadata.copy().put_all(known))

    def _embedded(
        self,
        batch: Sequence[str],
        texts: dict[str, str],
        owners: dict[str, list[Prepared]],
        closing: threading.Event,
    ) -> dict[str, np.ndarray]:
        inputs = tuple(texts[key] for key in batch)
        input_type = "document" if "input_type" in self._model.supported_parameters() else None
        with self._gate.indexing(closing):
            response = self._model.embed_request(EmbeddingRequest(inputs, input_type=input_type))
        for key, tokens in zip(batch, self._model.tokenizer.count_all(inputs), strict=True):
            owners[key][0].tokens += tokens
            _count_embedded(owners[key])
        for item in {id(owner): owner for key in batch for owner in owners[key]}.values():
            done = item.embedded / len(item.segments)
            item.job.report(_SPLIT + (_EMBEDDED - _SPLIT) * done, "embedding")
        return dict(zip(batch, response.vectors, strict=True))


class _EitherStop:
    def __init__(self, *signals: threading.Event) -> None:
        self._signals = signals

    def is_set(self) -> bool:
        return any(signal.is_set() for signal in self._signals)


def _texts_and_owners(prepared: Sequence[Prepared]) -> tuple[dict[str, str], dict[str, list[Prepared]]]:
    """Each different text once, and the files that hold it, one entry for each time."""
    texts: dict[str, str] = {}
    owners: dict[str, list[Prepared]] = {}
    for item in prepared:
        for key, segment in zip(item.hashes, item.segments, strict=True):
            texts[key] = segment.text_to_embed
            owners.setdefault(key, []).append(item)
    return texts, owners


def _is_wanted(owners: Sequence[Prepared]) -> bool:
    return any(not owner.job.stop.is_set() for owner in owners)


def _count_embedded(owners: Sequence[Prepared]) -> None:
    for owner in owners:
        owner.embedded += 1
