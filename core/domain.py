"""The nouns. Frozen values that every part passes to the next; no behaviour beyond making and reading them.

    bytes -> Document -> TextSegment -> Embedding -> EmbeddingMatch -> Content -> source in a prompt -> Result

A document's `text` is cleaned once, by its parser. All offsets are character offsets into that text, end excluded.
What is stored about them (ids, states, times) is in `core/records.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.errors import ConfigError
from core.metadata import Metadata

if TYPE_CHECKING:
    from core.filters import Filter

MarkKind = Literal["page", "heading", "table", "code", "sheet", "rows", "slide", "part"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place that survives parsing: `text[start:end]` lies on page 3, under heading "A > B", in rows "2-9" …

    Marks of one kind don't overlap and come in order. `heading` holds the whole path ("Guide > Install") and spans the
    section's own text, its heading line included. `table` and `code` span a block kept whole where it fits.
    """

    start: int
    end: int
    kind: MarkKind
    value: str | int


@dataclass(frozen=True)
class Document:
    """Cleaned text, what is known about it, and where in the original each part lies."""

    text: str
    metadata: Metadata = field(default_factory=Metadata)
    marks: tuple[Mark, ...] = ()

    @classmethod
    def from_text(cls, text: str, metadata: Metadata | Mapping | None = None) -> Document:
        return cls(text, _metadata(metadata))

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return text_hash(self.text)

    @property
    def id(self) -> str:
        """Content and source, 32 hexadecimal digits: the same for the same text from the same place."""
        return text_hash(f"{self.metadata.get_string('source') or ''}\0{self.content_hash}")[:32]

    def to_text_segment(self) -> TextSegment:
        return TextSegment(self.text, self.metadata.copy().put("index", 0), start=0, end=len(self.text))


@dataclass(frozen=True)
class TextSegment:
    """A piece of text that is embedded, found and shown.

    From a splitter it is an exact slice: `document.text[start:end] == text`, with the document's metadata copied in and
    `index` 0, 1, 2 … A free-standing one has no start and end. Transformers change `embedded_text` only.
    """

    text: str
    metadata: Metadata = field(default_factory=Metadata)
    start: int | None = None
    end: int | None = None
    embedded_text: str | None = None

    @classmethod
    def from_text(cls, text: str, metadata: Metadata | Mapping | None = None) -> TextSegment:
        return cls(text, _metadata(metadata))

    @property
    def index(self) -> int | None:
        return self.metadata.get_int("index")

    @property
    def text_to_embed(self) -> str:
        return self.text if self.embedded_text is None else self.embedded_text


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens read and written. `TokenUsage(3, 1) + TokenUsage(1, 1)` is `TokenUsage(4, 2)`."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


class Embedding:
    """A vector: float32, shape (dimension,)."""

    __slots__ = ("vector",)

    def __init__(self, vector: np.ndarray | list[float]) -> None:
        self.vector = np.array(vector, dtype=np.float32)
        if self.vector.ndim != 1 or not len(self.vector):
            raise ConfigError(f"an embedding is one row of numbers, not an array of shape {self.vector.shape}")

    @property
    def dimension(self) -> int:
        return len(self.vector)

    def normalize(self) -> Embedding:
        """Scale to length 1, in place, and return itself. A zero vector raises ConfigError."""
        length = float(np.linalg.norm(self.vector))
        if not np.isfinite(length) or length == 0:
            raise ConfigError("a vector of length zero, or with NaN or infinity in it, can't be normalised")
        self.vector /= length
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Embedding) and np.array_equal(self.vector, other.vector)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Embedding(dimension={self.dimension})"


class CosineSimilarity:
    """cos(a, b), from -1 to 1. Different dimensions raise ConfigError."""

    @staticmethod
    def between(a: Embedding, b: Embedding) -> float:
        if a.dimension != b.dimension:
            raise ConfigError(f"can't compare embeddings of {a.dimension} and {b.dimension} dimensions")
        lengths = float(np.linalg.norm(a.vector) * np.linalg.norm(b.vector))
        return float(a.vector @ b.vector) / max(lengths, 1e-12)


InputType = Literal["query", "document"]


@dataclass(frozen=True)
class EmbeddingRequest:
    """What to embed and how. None means: don't send this parameter."""

    inputs: tuple[str, ...]
    input_type: InputType | None = None
    dimensions: int | None = None


@dataclass(frozen=True)
class EmbeddingResponse:
    """`vectors`: float32, shape (len(inputs), dimension), rows of length 1, in the order of the inputs.

    token_counts  tokens of each input, where the model tells
    """

    vectors: np.ndarray
    token_usage: TokenUsage = TokenUsage()
    token_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class EmbeddingSearchRequest:
    """`min_score` is inclusive, 0 to 1, on the scale (cosine + 1) / 2. The filter acts before the best are taken."""

    query_embedding: Embedding
    max_results: int = 3
    min_score: float = 0.0
    filter: Filter | None = None

    def __post_init__(self) -> None:
        if self.max_results < 1:
            raise ConfigError(f"max_results={self.max_results} must be at least 1")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min_score={self.min_score} must be between 0 and 1")


@dataclass(frozen=True)
class EmbeddingMatch:
    """One hit: `score` = (cosine + 1) / 2. `segment` is None for an entry that was added without one."""

    score: float
    id: str
    segment: TextSegment | None
    cosine: float
    document_id: int | None = None


@dataclass(frozen=True)
class KeywordScore:
    """How well a segment fits the words of a query; all are 0 where it holds none of them.

    `share`: bm25 as a part of the most that this query could reach, 0 to 1, comparable between queries.
    `coverage`: part of the query's terms that the segment holds, rare ones counting more, 0 to 1.
    `phrase`: part of the query's neighbouring terms that the segment holds side by side, 0 to 1.
    """

    bm25: float = 0.0
    share: float = 0.0
    coverage: float = 0.0
    phrase: float = 0.0
    matched_terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeywordMatch:
    """One keyword hit: BM25 (higher is better) and the words of the query that the segment holds."""

    bm25: float
    id: str
    segment: TextSegment
    matched_terms: tuple[str, ...] = ()
    document_id: int | None = None
    share: float = 0.0
    coverage: float = 0.0
    phrase: float = 0.0


@dataclass(frozen=True)
class Content:
    """A segment with everything that was measured about it on its way. Scores are added, never overwritten.

    `scores` by name (cosine, score, bm25, rrf, fused …), `ranks` by leg, from 1 (vector, keyword …).
    """

    segment: TextSegment
    id: str = ""
    document_id: int | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    matched_terms: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Equal keys are the same content: the segment's id, or its text where it has none."""
        return self.id or self.segment.text

    def with_scores(self, scores: Mapping[str, float], ranks: Mapping[str, int] | None = None) -> Content:
        return Content(
            self.segment,
            self.id,
            self.document_id,
            {**self.scores, **scores},
            {**self.ranks, **ranks} if ranks else self.ranks,
            self.matched_terms,
        )

    def joined_with(self, other: Content) -> Content:
        """The same content seen by another leg: scores, ranks and matched words of both; on a clash this one's stay."""
        return Content(
            self.segment,
            self.id,
            self.document_id,
            {**other.scores, **self.scores},
            {**other.ranks, **self.ranks},
            tuple(dict.fromkeys(self.matched_terms + other.matched_terms)),
        )


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Role
    text: str


FinishReason = Literal["stop", "length", "stopped", "empty"]


@dataclass(frozen=True)
class ChatRequest:
    """One call of a chat model. `temperature` 0 is greedy. `stop` ends the answer and isn't part of it.

    `json_schema` makes the reply a JSON value of that schema, where the model supports it.
    """

    messages: tuple[ChatMessage, ...]
    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 0.95
    seed: int = 0
    stop: tuple[str, ...] = ()
    json_schema: Mapping | None = None


@dataclass(frozen=True)
class ChatDelta:
    """A piece of a streamed reply; the last one carries finish_reason and usage. `reused_tokens`: read before, kept."""

    text: str = ""
    finish_reason: FinishReason | None = None
    token_usage: TokenUsage | None = None
    reused_tokens: int = 0


def text_hash(text: str) -> str:
    """SHA-256 of the UTF-8 bytes, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _metadata(metadata: Metadata | Mapping | None) -> Metadata:
    return metadata.copy() if isinstance(metadata, Metadata) else Metadata(metadata)
