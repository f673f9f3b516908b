"""Every seam on one page: what a part must be able to do to take another's place.

Strategies implement these without inheriting. Each has a contract test in `tests/contracts/`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np

from core.domain import (
    ChatDelta,
    ChatMessage,
    ChatRequest,
    Content,
    Document,
    Embedding,
    EmbeddingMatch,
    EmbeddingRequest,
    EmbeddingResponse,
    EmbeddingSearchRequest,
    KeywordMatch,
    KeywordScore,
    TextSegment,
)
from core.filters import Filter
from core.query import Query
from core.records import (
    CollectionRecord,
    ConversationRecord,
    DeletedDocument,
    DocumentRecord,
    FinishedDocument,
    JobRecord,
    MessageRecord,
    NewDocument,
    NewPart,
    Problem,
    SaveResult,
    SegmentRecord,
    Unfinished,
)

# ── stop, progress, locks ────────────────────────────────────────────────────


class StopSignal(Protocol):
    """threading.Event fits."""

    def is_set(self) -> bool: ...


Progress = Callable[[float, str], None]  # (share done 0..1, phase)


# ── documents ────────────────────────────────────────────────────────────────


@runtime_checkable
class DocumentParser(Protocol):
    """Bytes to cleaned text with marks. Knows nothing of files, processes or limits."""

    name: str

    def parse(self, data: bytes, file_name: str = "", password: str | None = None) -> Document:
        """raises DocumentError (PasswordError, UnsupportedFileError) with the file's name in its sentence.

        Warnings for people are in the metadata under "warnings" (joined by newlines), the page count under "pages".
        """
        ...


class DocumentTransformer(Protocol):
    def transform(self, document: Document) -> Document | None: ...


class DocumentSplitter(Protocol):
    def split(self, document: Document) -> list[TextSegment]: ...


class TextSegmentTransformer(Protocol):
    def transform(self, segment: TextSegment) -> TextSegment | None: ...


class TokenCountEstimator(Protocol):
    """Counts tokens of one tokenizer; special tokens that the model adds are not counted."""

    def count(self, text: str) -> int: ...

    def count_all(self, texts: Sequence[str]) -> list[int]: ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """(start, end) in characters of each token, in order."""
        ...


# ── embedding ────────────────────────────────────────────────────────────────


@runtime_checkable
class EmbeddingModel(Protocol):
    """`model_id` names everything that changes vectors: name, revision or file hash, precision, prefixes."""

    model_id: str
    dimension: int
    max_tokens: int  # what it reads of one text, special tokens not counted
    tokenizer: TokenCountEstimator

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse: ...

    def embed(self, text: str | TextSegment) -> Embedding: ...

    def embed_all(self, segments: Sequence[str | TextSegment]) -> list[Embedding]: ...

    def supported_parameters(self) -> frozenset[str]: ...

    def supported_content_types(self) -> frozenset[str]: ...


@runtime_checkable
class EmbeddingStore(Protocol):
    """Vectors with segments. See contracts: a known id is replaced, filters act before top-k, best first."""

    def add(self, *args: Any) -> str:
        """add(embedding), add(id, embedding) or add(embedding, segment); returns the id."""
        ...

    def add_all(self, *args: Any) -> list[str]:
        """add_all(embeddings), add_all(embeddings, segments) or add_all(ids, embeddings, segments)."""
        ...

    def search(self, request: EmbeddingSearchRequest) -> list[EmbeddingMatch]: ...

    # A store may also have `search_ids(request) -> list[tuple[str, float]]`: (id, cosine) of what `search` would
    # find, best first, without reading the segments.

    def remove(self, id: str) -> None: ...

    def remove_all(self, *args: Any) -> None:
        """remove_all(ids), remove_all(filter) or remove_all(); [] and None raise and never empty the store."""
        ...


class KeywordIndex(Protocol):
    def search(self, query: str, *, limit: int, filter: Filter | None = None) -> list[KeywordMatch]:
        """BM25, any term of the query, best first. A query is data, never FTS5 syntax; no terms, no hits."""
        ...

    # An index may also have `search_ids(query, *, limit, filter=None) -> list[str]`: the ids of what `search` finds,
    # best first, without reading the segments.

    def scores_of(self, query: str, ids: Sequence[str]) -> dict[str, KeywordScore]:
        """The same scores for named segments, whether `search` would find them or not; unknown ids are left out."""
        ...


class SegmentReader(Protocol):
    """For a search that ranks by ids first, and then reads what it keeps."""

    def read(self, ids: Sequence[str], filter: Filter | None = None) -> dict[str, tuple[int | None, TextSegment]]:
        """Segment id -> (document id, segment), of those that there are and that the filter lets through."""
        ...


# ── retrieval augmentation ───────────────────────────────────────────────────


class QueryTransformer(Protocol):
    def transform(self, query: Query) -> list[Query]: ...


@runtime_checkable
class ContentRetriever(Protocol):
    def retrieve(self, query: Query) -> list[Content]:
        """Best first; [] when nothing fits."""
        ...


class QueryRouter(Protocol):
    def route(self, query: Query) -> list[ContentRetriever]: ...


class ContentAggregator(Protocol):
    def aggregate(self, results: Mapping[Query, Sequence[Sequence[Content]]]) -> list[Content]:
        """results: per query, the ranked lists of its retrievers. Query is hashable by identity of its text."""
        ...


class ContentInjector(Protocol):
    def inject(self, contents: Sequence[Content], message: str) -> str: ...


# ── chat ─────────────────────────────────────────────────────────────────────


@runtime_checkable
class ChatModel(Protocol):
    """Not thread-safe: one owner at a time (`core.services.answering` is the owner in the app)."""

    name: str
    context_tokens: int

    @property
    def fingerprint(self) -> str:
        """Tells its weights from any other model's: what was measured of it is kept under this name."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a piece of plain text."""
        ...

    def count_prompt_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the whole rendered prompt, turn markers included, as `stream` would send it."""
        ...

    def stream(self, request: ChatRequest, stop: StopSignal | None = None) -> Iterator[ChatDelta]:
        """Yields text as it comes; the last delta has finish_reason. A set `stop` ends it within a second, also
        while the prompt is being read. A last message of the assistant is an answer that it goes on with.
        raises ContextOverflowError when the prompt leaves no room."""
        ...

    def load(self) -> None:
        """Make it ready; nothing happens when it is. raises ModelError"""
        ...

    def reusable_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens at the beginning of this prompt that were read before and needn't be read again."""
        ...

    def read_ahead(self, messages: Sequence[ChatMessage], *, at_most: int = 256, stop: StopSignal | None = None) -> int:
        """Read at most so many tokens of what a prompt begins with that has these messages and then a question.

        returns how many are left to be read; 0 when there is nothing (more) to do. raises StoppedError.
        """
        ...

    def close(self) -> None: ...


class ChatMemory(Protocol):
    id: str

    def add(self, message: ChatMessage) -> None: ...

    def messages(self) -> list[ChatMessage]: ...

    def clear(self) -> None: ...


class ChatMemoryStore(Protocol):
    def get_messages(self, memory_id: str) -> list[ChatMessage]: ...

    def update_messages(self, memory_id: str, messages: Sequence[ChatMessage]) -> None: ...

    def delete_messages(self, memory_id: str) -> None: ...


# ── what is kept ─────────────────────────────────────────────────────────────


class FileStore(Protocol):
    """Original files by the SHA-256 of their bytes."""

    def put(self, data: bytes | BinaryIO) -> str:
        """Written to a temporary name, fsynced, renamed; returns the hash. raises StorageError (disk full …)."""
        ...

    def read(self, content_hash: str) -> bytes: ...

    def path(self, content_hash: str) -> Path: ...


class DocumentStore(Protocol):
    """Documents, their segments and vectors. Every change is one transaction that raises the generation number."""

    def generation(self) -> int: ...

    def find(self, source: str, collection: str) -> DocumentRecord | None: ...

    def link_existing(
        self,
        *,
        source: str,
        name: str,
        collection: str,
        content_hash: str,
        size: int,
        pipeline: str,
        model_id: str,
        on_conflict: str,
    ) -> SaveResult | None:
        """For bytes that are indexed already by this pipeline and model: "unchanged" or "duplicate" (or "updated", when
        this source held something else), without parsing. None: they have to be parsed."""
        ...

    def vectors_for(self, hashes: Sequence[str], model_id: str) -> dict[str, np.ndarray]:
        """Vectors that exist already, by `core.domain.text_hash(segment.text_to_embed)`."""
        ...

    def save(self, new: NewDocument) -> SaveResult:
        """Makes a document visible, or replaces its old version, at once; unchanged segments keep their id."""
        ...

    def unfinished(self, content_hash: str, pipeline: str, model_id: str) -> Unfinished | None:
        """What an interrupted ingest of these bytes has kept; None where it must begin at the beginning."""
        ...

    def add_part(self, part: NewPart) -> None:
        """Keeps a part, invisible to everybody. A part with this number that is kept already stays as it is."""
        ...

    def publish(self, finished: FinishedDocument) -> SaveResult:
        """Makes all parts visible at once, as `save` does; unchanged segments keep their id."""
        ...

    def discard_unfinished(self, content_hash: str, pipeline: str) -> None:
        """Forgets parts that nobody will go on with."""
        ...

    def delete(self, document_id: int) -> DocumentRecord:
        """Gone from every search at once; `undelete` brings it back until `purge_deleted`."""
        ...

    def deleted(self) -> list[DeletedDocument]:
        """Newest first."""
        ...

    def undelete(self, document_id: int) -> DocumentRecord:
        """With its id, segments and vectors as they were. raises NotFoundError (purged); ConfigError (another document
        has its source by now)"""
        ...

    def purge_deleted(self, *, document_ids: Sequence[int] | None = None, older_than_s: float = 0) -> int:
        """Deletes for good, the originals too; returns how many documents."""
        ...

    def sweep(self) -> int:
        """Finishes what a crash left: superfluous originals and parts of no job go; returns how many."""
        ...

    def get(self, document_id: int) -> DocumentRecord: ...

    def list(
        self, *, collection: str | None = None, search: str = "", limit: int | None = None, offset: int = 0
    ) -> list[DocumentRecord]: ...

    def count(self, *, collection: str | None = None) -> int: ...

    def text(self, document_id: int) -> Document: ...

    def excerpt(self, document_id: int, start: int, end: int) -> str:
        """The characters start to end of its text, without reading the rest of a long one."""
        ...

    def segments(self, document_id: int, *, limit: int | None = None, offset: int = 0) -> list[SegmentRecord]: ...

    def segment(self, segment_id: str) -> SegmentRecord: ...

    def neighbours(self, segment_id: str, distance: int) -> list[SegmentRecord]:
        """Segments of the same document with index within ± distance, in order, in one request."""
        ...

    def collections(self) -> list[CollectionRecord]: ...

    def add_collection(self, name: str) -> CollectionRecord: ...

    def rename_collection(self, name: str, new_name: str) -> None: ...

    def delete_collection(self, name: str) -> int:
        """Deletes it with its documents; returns how many."""
        ...


class JobStore(Protocol):
    """Durable jobs. A job is run by exactly one process: `claim` takes a lease that `heartbeat` keeps."""

    def add(self, kind: str, name: str, payload: Mapping[str, Any], *, batch: str = "") -> JobRecord: ...

    def claim(
        self, owner: str, *, lease_s: float, batch: str | None = None, most_bytes: int | None = None
    ) -> JobRecord | None: ...

    def heartbeat(self, job_id: int, owner: str, *, lease_s: float) -> bool:
        """False: the lease was lost to somebody else; stop working on it."""
        ...

    def heartbeat_all(self, owner: str, *, lease_s: float) -> set[int]:
        """The ids of all jobs whose lease this owner still holds, for so long from now."""
        ...

    def progress(self, job_id: int, owner: str, progress: float, phase: str) -> None: ...

    def finish(
        self, job_id: int, owner: str, state: str, *, reason: str = "", result: Mapping | None = None
    ) -> None: ...

    def release(self, job_id: int, owner: str) -> None:
        """Back to waiting, for example when the app closes."""
        ...

    def request_stop(self, job_id: int) -> None: ...

    def retry(self, job_id: int, payload: Mapping[str, Any] | None = None) -> JobRecord: ...

    def get(self, job_id: int) -> JobRecord: ...

    def list(self, *, states: Sequence[str] = (), batch: str | None = None, limit: int = 200) -> list[JobRecord]: ...

    def clear_ended(self) -> int: ...


class ConversationStore(Protocol):
    def create(self, title: str = "", options: Mapping[str, Any] | None = None) -> ConversationRecord: ...

    def get(self, conversation_id: str) -> ConversationRecord: ...

    def list(self, *, search: str = "", limit: int = 200) -> list[ConversationRecord]: ...

    def update(self, conversation_id: str, *, title: str | None = None, options: Mapping | None = None) -> None: ...

    def delete(self, conversation_id: str) -> None: ...

    def add_turn(
        self, conversation_id: str, text: str, *, request_key: str, after_jobs: Sequence[int] = ()
    ) -> tuple[MessageRecord, MessageRecord]:
        """Question and waiting answer in one transaction; the same request_key again returns the same two.

        after_jobs  ids kept in the answer's record; nobody can claim it while one of them waits or runs
        """
        ...

    def message(self, message_id: int) -> MessageRecord: ...

    def messages(self, conversation_id: str) -> list[MessageRecord]: ...

    def update_message(self, message_id: int, **changes: Any) -> None:
        """Any of text, state, reason, sources, sentences, record, memory_text."""
        ...

    def claim_answer(self, owner: str, *, lease_s: float) -> MessageRecord | None:
        """The oldest waiting answer, now owned; each conversation's in order."""
        ...

    def heartbeat(self, message_id: int, owner: str, *, lease_s: float) -> bool: ...

    def interrupt_abandoned(self, is_dead: Callable[[str], bool] = ...) -> int:
        """Answers whose lease has ended, or whose owner is dead, become "interrupted"; what was written stays."""
        ...

    def request_stop(self, message_id: int) -> None: ...

    def memory(self, conversation_id: str, *, before: int | None = None) -> list[ChatMessage]:
        """What chat memory holds of complete turns, oldest first, before message id `before`."""
        ...

    def remove_after(self, message_id: int) -> None:
        """Deletes this message and all later ones of its conversation (edit and resend, regenerate)."""
        ...


class SettingsStore(Protocol):
    """Choices made in the app; they win over defaults, the environment wins over them."""

    def load(self) -> dict[str, Any]: ...

    def save(self, name: str, value: Any) -> None: ...

    def reset(self, name: str) -> None: ...


class MeasurementStore(Protocol):
    """What was measured on this machine: plain JSON by name. It may be forgotten at any time and is measured again."""

    def get(self, name: str) -> dict[str, Any] | None: ...

    def put(self, name: str, value: Mapping[str, Any]) -> None: ...


class Maintenance(Protocol):
    def check(self, *, full: bool = True) -> list[Problem]: ...

    def repair(
        self, problems: Iterable[Problem], *, full: bool = True, only: Container[str] | None = None
    ) -> list[Problem]:
        """Mends what it can (of these kinds only); returns what such a check finds afterwards."""
        ...

    def backup(self, target: Path) -> dict[str, int]: ...

    def sweep(self) -> int:
        """Removes what crashes left half written; returns how many files."""
        ...


class ComputeGate(Protocol):
    """Heavy computing passes here: an answer goes first, indexing waits between its batches."""

    def answering(self) -> AbstractContextManager[None]: ...

    def indexing(self, stop: StopSignal | None = None) -> AbstractContextManager[None]: ...

    def give_way(self, stop: StopSignal | None = None) -> None:
        """Waits while an answer is written. raises StoppedError"""
        ...
