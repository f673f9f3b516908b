"""What the storage tells about the things it keeps: frozen rows, as the app and the command line read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np

from core.domain import Content, Document, TextSegment
from core.metadata import Metadata

DEFAULT_COLLECTION = "default"

IngestStatus = Literal["indexed", "unchanged", "updated", "duplicate", "removed", "needs_password", "failed", "stopped"]
OnConflict = Literal["replace", "keep_both"]


@dataclass(frozen=True)
class CollectionRecord:
    id: int
    name: str
    documents: int
    segments: int
    created: datetime


@dataclass(frozen=True)
class DocumentRecord:
    """One name for one content. Two documents with the same content share segments and vectors (`shared_with`)."""

    id: int
    source: str  # where it came from: an absolute path, a URL, or "upload:<name>"
    name: str  # what people see, control characters neutralised
    collection: str
    type: str  # the parser's name: pdf, html …
    state: str  # "indexed"
    pages: int | None
    segments: int
    characters: int
    added: datetime
    updated: datetime
    content_hash: str  # SHA-256 of the original bytes, hexadecimal
    size: int  # bytes of the original
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    shared_with: tuple[str, ...] = ()  # names of other documents with the same content


@dataclass(frozen=True)
class SegmentRecord:
    id: str
    document_id: int
    segment: TextSegment


@dataclass(frozen=True)
class NewDocument:
    """All that one transaction makes visible: the document, its segments and their vectors.

    vectors: float32, shape (len(segments), dimension), rows of length 1, made by `model_id`.
    terms: per segment its keyword tokens, joined by blanks (`core.text.terms.index_terms`).
    pipeline: fingerprint of parser, splitter and transformer options; the same bytes through the same pipeline give the
    same segments.
    """

    source: str
    name: str
    collection: str
    type: str
    content_hash: str
    size: int
    document: Document
    segments: tuple[TextSegment, ...]
    vectors: np.ndarray
    terms: tuple[str, ...]
    model_id: str
    pipeline: str
    pages: int | None = None
    warnings: tuple[str, ...] = ()
    on_conflict: OnConflict = "replace"


@dataclass(frozen=True)
class NewPart:
    """A stretch of a long document, kept while the rest is still being read; nobody can find it yet.

    Parts of one content are numbered 0, 1, 2 … and follow each other without a gap.

    document: text, marks (from the part's own beginning) and metadata of this part.
    start: characters of the document before this part.
    segments: their start and end count from the beginning of the whole document, their index goes on from part to part.
    vectors, terms: as in `NewDocument`.
    after: plain JSON; what the parser needs to go on behind this part.
    """

    content_hash: str
    pipeline: str
    model_id: str
    type: str
    number: int
    start: int
    document: Document
    segments: tuple[TextSegment, ...]
    vectors: np.ndarray
    terms: tuple[str, ...]
    after: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unfinished:
    """How far an interrupted ingest had come: what the next one needn't do again. `after` is the last part's."""

    parts: int
    characters: int
    segments: int
    after: Mapping[str, Any]


@dataclass(frozen=True)
class FinishedDocument:
    """A document whose parts are all kept, to be made visible at once. Fields as in `NewDocument`.

    parts: how many it has; None: as many as are kept. Fewer are never published: somebody else may be at work on them.
    """

    source: str
    name: str
    collection: str
    type: str
    content_hash: str
    size: int
    metadata: Metadata
    model_id: str
    pipeline: str
    pages: int | None = None
    warnings: tuple[str, ...] = ()
    on_conflict: OnConflict = "replace"
    parts: int | None = None


@dataclass(frozen=True)
class DeletedDocument:
    """A document that was deleted and can still be brought back. `id` is the one that it had, and will have again."""

    id: int
    name: str
    source: str
    collection: str
    type: str
    segments: int
    size: int
    deleted: datetime


@dataclass(frozen=True)
class SaveResult:
    """What a save did. `document` is the row as it is now; for "duplicate", `duplicate_of` names the first one."""

    status: IngestStatus
    document: DocumentRecord
    duplicate_of: str = ""


JobState = Literal["waiting", "running", "done", "failed", "stopped", "needs_password"]
JOB_ENDED = ("done", "failed", "stopped", "needs_password")


@dataclass(frozen=True)
class JobRecord:
    """One file on its way into the index. `payload` is plain JSON: content_hash, name, source, collection …"""

    id: int
    kind: str  # "ingest" | "reindex"
    state: JobState
    name: str
    payload: Mapping[str, Any]
    progress: float  # 0 to 1
    phase: str  # what it is doing: waiting, reading, splitting, embedding, saving
    reason: str  # one sentence where it failed, stopped, or has something to say
    result: Mapping[str, Any]  # status, document_id, pages, segments, tokens, seconds, warnings
    created: datetime
    updated: datetime
    batch: str = ""
    attempts: int = 0
    stop_requested: bool = False
    owner: str = ""  # who runs it, see `core.services.running_jobs.owner_name`; empty when nobody does


MessageState = Literal[
    "waiting", "searching", "reading", "writing", "complete", "stopped", "cut", "failed", "interrupted"
]
MESSAGE_ENDED = ("complete", "stopped", "cut", "failed", "interrupted")


@dataclass(frozen=True)
class ConversationRecord:
    id: str  # 32 hexadecimal digits
    title: str
    created: datetime
    updated: datetime
    options: Mapping[str, Any]  # scope (collection, document_ids), preset, store_retrieved_content


@dataclass(frozen=True)
class MessageRecord:
    """One message on the screen. `text` is what was typed, or the answer so far.

    `memory_text`: what chat memory keeps of it (augmented or as typed); None until its turn is complete, and for turns
    that memory doesn't keep (failed, empty, interrupted).
    `sources`: frozen when the answer was made. `record`: queries, what was cut, prompt parts, seed, model, timings.
    """

    id: int
    conversation_id: str
    role: Literal["user", "assistant"]
    text: str
    state: MessageState
    reason: str
    sources: tuple[Source, ...]
    sentences: tuple[Mapping[str, Any], ...]
    record: Mapping[str, Any]
    created: datetime
    updated: datetime
    memory_text: str | None = None
    reply_to: int | None = None  # an answer's question
    stop_requested: bool = False


@dataclass(frozen=True)
class Source:
    """A content as it was put in the prompt, number n from 1, with the names needed to show it for ever."""

    number: int
    segment_id: str
    document_id: int | None
    document: str
    text: str
    start: int | None = None
    end: int | None = None
    page: int | None = None
    heading_path: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    matched_terms: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_content(cls, number: int, content: Content) -> Source:
        segment, known = content.segment, content.segment.metadata
        return cls(
            number,
            content.id,
            content.document_id,
            known.get_string("file_name") or known.get_string("title") or "",
            segment.text,
            segment.start,
            segment.end,
            known.get_int("page"),
            known.get_string("heading_path") or "",
            dict(content.scores),
            dict(content.ranks),
            content.matched_terms,
            known.to_json(),
        )


@dataclass(frozen=True)
class Problem:
    """One finding of `check`. `repairable` ones are mended by `check --repair`. `document_ids`: those it's about."""

    kind: str
    message: str
    repairable: bool = True
    document_ids: tuple[int, ...] = ()
