"""Records as plain JSON values: what `--json` prints and exports hold. Field names are the command line's contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.domain import Content
from core.records import (
    CollectionRecord,
    DeletedDocument,
    DocumentRecord,
    JobRecord,
    MessageRecord,
    Problem,
    SegmentRecord,
    Source,
)

Row = dict[str, Any]


def document_row(record: DocumentRecord) -> Row:
    return {
        "id": record.id,
        "source": record.source,
        "name": record.name,
        "collection": record.collection,
        "type": record.type,
        "state": record.state,
        "pages": record.pages,
        "segments": record.segments,
        "characters": record.characters,
        "added": record.added.isoformat(),
        "warnings": list(record.warnings),
        "shared_with": list(record.shared_with),
    }


def deleted_row(record: DeletedDocument) -> Row:
    return {**asdict(record), "deleted": record.deleted.isoformat()}


def collection_row(record: CollectionRecord) -> Row:
    return {**asdict(record), "created": record.created.isoformat()}


def segment_row(record: SegmentRecord) -> Row:
    segment = record.segment
    return {
        "id": record.id,
        "index": segment.index,
        "start": segment.start,
        "end": segment.end,
        "page": segment.metadata.get_int("page"),
        "text": segment.text,
        "metadata": segment.metadata.to_json(),
    }


def job_row(record: JobRecord) -> Row:
    return {
        "id": record.id,
        "kind": record.kind,
        "name": record.name,
        "state": record.state,
        "progress": round(record.progress, 3),
        "phase": record.phase,
        "reason": record.reason,
        "created": record.created.isoformat(),
    }


def ingest_row(job: JobRecord) -> Row:
    """One ended ingest job as `ingest --json` prints it: `status` is the result's, or the job's own state."""
    result: Mapping[str, Any] = job.result
    return {
        "source": job.payload.get("source", job.name),
        "document_id": result.get("document_id"),
        "status": result.get("status", job.state),
        "pages": result.get("pages"),
        "segments": result.get("segments", 0),
        "warnings": list(result.get("warnings", ())),
        "note": job.reason if job.state == "done" else "",
        "error": "" if job.state == "done" else job.reason,
        "seconds": round(result.get("seconds", 0.0), 3),
        "tokens": result.get("tokens", 0),
    }


def content_row(rank: int, content: Content) -> Row:
    segment = content.segment
    return {
        "rank": rank,
        "document_id": content.document_id,
        "document": segment.metadata.get_string("file_name") or "",
        "segment_id": content.id,
        "page": segment.metadata.get_int("page"),
        "start": segment.start,
        "end": segment.end,
        "text": segment.text,
        "scores": dict(content.scores),
        "ranks": dict(content.ranks),
    }


def source_row(source: Source) -> Row:
    return {
        "number": source.number,
        "segment_id": source.segment_id,
        "document_id": source.document_id,
        "document": source.document,
        "page": source.page,
        "start": source.start,
        "end": source.end,
        "text": source.text,
        "scores": dict(source.scores),
    }


def answer_row(message: MessageRecord) -> Row:
    record = message.record
    return {
        "answer": message.text,
        "state": message.state,
        "refused": bool(record.get("refused", False)),
        "sources": [source_row(source) for source in message.sources],
        "sentences": [
            {"text": item.get("text"), "support": item.get("support"), "source": item.get("source")}
            for item in message.sentences
        ],
        "usage": dict(record.get("usage", {})),
        "timings": dict(record.get("timings", {})),
        "conversation": message.conversation_id,
    }


def problem_row(problem: Problem) -> Row:
    return {"kind": problem.kind, "message": problem.message, "repairable": problem.repairable}
