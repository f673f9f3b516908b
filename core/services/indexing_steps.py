"""What is done with one file, step by step: read and split it part by part, then keep each part, or all of it at once.

prepare(job)  -> SaveResult, for bytes that are indexed already, or an iterator of Prepared parts
keep(item)    -> SaveResult where the document became visible by it: a file of one part is saved in one transaction; a
                 longer one's parts are kept unseen, and published with the last one
discard(job)  forgets the parts of a file that nobody will go on with
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing as closed_at_end
from dataclasses import replace
from typing import Any, Protocol

from core.domain import Document, TextSegment
from core.errors import DocumentError, StoppedError
from core.metadata import Metadata
from core.parsers.parts import DocumentPart
from core.pipeline import Pipeline
from core.protocols import ComputeGate, DocumentStore, EmbeddingModel, FileStore
from core.records import FinishedDocument, NewDocument, NewPart, SaveResult
from core.services.library import REINDEX
from core.services.prepared import READ, SPLIT, Prepared
from core.services.running_jobs import RunningJob
from core.text.terms import index_terms


class FileReader(Protocol):
    """`core.parsing_worker.ParsingWorker`, or anything that reads files as it does."""

    def parse_parts(
        self,
        path: Any,
        file_name: str,
        password: str | None = None,
        stop: Any = None,
        progress: Any = None,
        after: Any = None,
    ) -> Iterator[DocumentPart]: ...

    def close(self) -> None: ...


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

    def prepare(self, job: RunningJob, closing: threading.Event) -> SaveResult | Iterator[Prepared]:
        """raises  DocumentError and its kind, ModelError, StoppedError; the iterator too"""
        if job.record.kind == REINDEX:
            self._documents.get(job.record.payload["document_id"])  # deleted meanwhile: NotFoundError
        elif linked := self._documents.link_existing(**self._place(job), **self._content(job)):
            return linked
        self._before_reading()
        return self._parts(job, closing)

    def keep(self, item: Prepared) -> SaveResult | None:
        """raises StoppedError for a file that was stopped before; then nothing is kept"""
        job = item.job
        if item.vectors is None or job.stop.is_set():
            raise StoppedError(f"indexing {job.record.name!r} was stopped")
        job.tokens += item.tokens
        metadata = item.part.document.metadata
        new = {
            "document": item.part.document,
            "segments": tuple(item.segments),
            "vectors": item.vectors,
            "terms": tuple(" ".join(index_terms(segment.text)) for segment in item.segments),
            "type": metadata.get_string("file_type") or "",
        }
        if item.is_whole:
            return self._documents.save(
                NewDocument(**self._place(job), **self._content(job), **new, **_notes(metadata))
            )
        if item.segments:
            job.has_parts = True
            after = {"reader": dict(item.part.after), "is_last": item.part.is_last, "share": item.part.share}
            after |= {"tokens": job.tokens, "pages": item.part.pages[0] if item.part.pages else 0}
            after |= {"metadata": metadata.to_json()} if item.part.is_last else {}
            content = {key: value for key, value in self._content(job).items() if key != "size"}
            self._documents.add_part(NewPart(**content, **new, number=item.number, start=item.part.start, after=after))
        if not item.part.is_last:
            return None
        return self._documents.publish(
            FinishedDocument(
                **self._place(job),
                **self._content(job),
                **_notes(metadata),
                type=new["type"],
                metadata=metadata,
                parts=item.number + bool(item.segments),
            )
        )

    def discard(self, job: RunningJob) -> None:
        if job.has_parts:
            content = self._content(job)
            self._documents.discard_unfinished(content["content_hash"], content["pipeline"])

    def _parts(self, job: RunningJob, closing: threading.Event) -> Iterator[Prepared]:
        payload, content = job.record.payload, self._content(job)
        known = self._documents.unfinished(content["content_hash"], content["pipeline"], content["model_id"])
        job.has_parts = known is not None
        number, index = (known.parts, known.segments) if known else (0, 0)
        after: Mapping[str, Any] = known.after if known else {"reader": None, "is_last": False}
        share, pages, job.tokens = after.get("share", 0.0), after.get("pages", 0), after.get("tokens", 0)
        facts = {"file_name": job.record.name, "source": payload["source"]}
        if after["is_last"]:  # nothing is missing but that it is published
            metadata = Metadata.from_json(after["metadata"]).put_all(facts)
            yield Prepared(job, DocumentPart(Document("", metadata)), [], number, share, pages)
            return
        stop = _EitherStop(job.stop, closing)
        job.report(share, "reading")
        with closed_at_end(
            self._reader.parse_parts(
                self._files.path(payload["content_hash"]),
                payload["name"],
                payload.get("password"),
                stop=stop,
                progress=lambda done, total: None if index else job.report(READ * done / max(total, 1), "reading"),
                after=after["reader"],
            )
        ) as parts:
            blank = ""
            for part in parts:
                self._gate.give_way(stop)
                part = _behind(blank, part)
                item = self._split(job, part, facts, number, index)
                if not item.segments and (item.is_whole or not part.is_last):
                    if part.is_last:
                        raise DocumentError(
                            f"{job.record.name!r} holds no text that could be searched", file_name=job.record.name
                        )
                    blank = part.document.text  # it belongs to the next part, so that none is without segments
                    continue
                blank = ""
                item.earlier_share, item.earlier_pages = share, pages
                number, index = number + 1, index + len(item.segments)
                share, pages = part.share, part.pages[0] if part.pages else 0
                if item.number == 0:
                    item.report(SPLIT, "waiting to be embedded")
                del part
                yield item
                del item

    def _split(
        self, job: RunningJob, part: DocumentPart, facts: Mapping[str, str], number: int, index: int
    ) -> Prepared:
        document = replace(part.document, metadata=part.document.metadata.copy().put_all(facts))
        segments = self._pipeline.segments(document, self._model)
        if part.start or index:
            segments = [_moved(segment, part.start, index) for segment in segments]
        return Prepared(job, replace(part, document=document), segments, number)

    def _place(self, job: RunningJob) -> dict[str, Any]:
        payload = job.record.payload
        return {
            "source": payload["source"],
            "name": job.record.name,
            "collection": payload["collection"],
            "on_conflict": payload["on_conflict"],
        }

    def _content(self, job: RunningJob) -> dict[str, Any]:
        model_id, payload = self._model.model_id, job.record.payload
        return {
            "content_hash": payload["content_hash"],
            "size": payload["size"],
            "pipeline": self._pipeline.fingerprint(model_id),
            "model_id": model_id,
        }


class _EitherStop:
    def __init__(self, *signals: threading.Event) -> None:
        self._signals = signals

    def is_set(self) -> bool:
        return any(signal.is_set() for signal in self._signals)


def _behind(blank: str, part: DocumentPart) -> DocumentPart:
    """The part with text in front of it that lies between it and the part before."""
    if not blank:
        return part
    document, by = part.document, len(blank)
    marks = tuple(replace(mark, start=mark.start + by, end=mark.end + by) for mark in document.marks)
    return replace(part, document=replace(document, text=blank + document.text, marks=marks), start=part.start - by)


def _moved(segment: TextSegment, start: int, index: int) -> TextSegment:
    metadata = segment.metadata.copy().put("index", index + (segment.index or 0))
    return replace(segment, metadata=metadata, start=start + (segment.start or 0), end=start + (segment.end or 0))


def _notes(metadata: Metadata) -> dict[str, Any]:
    warnings = metadata.get_string("warnings")
    return {"pages": metadata.get_int("pages"), "warnings": tuple(warnings.split("\n")) if warnings else ()}
