"""From a document to the segments that are embedded, as the app does it: split in real tokens, prefixed if wanted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from core.domain import Document, TextSegment, text_hash
from core.errors import ConfigError
from core.protocols import EmbeddingModel
from core.segment_transformers.heading_prefix import HeadingPrefix
from core.splitters.recursive import RecursiveSplitter

# Raise it when parsers or splitters change what they give for the same bytes: stored documents are then done anew.
VERSION = 1
_SMALLEST_ROOM = 16


@dataclass(frozen=True)
class Pipeline:
    """The options that decide which segments a document has and what is embedded of them.

    max_segment_tokens  capped at what the embedding model reads, less the room of the prefix
    overlap_tokens      at most half of a segment
    prefix              "none", or "heading": title and heading path in front of what is embedded
    """

    max_segment_tokens: int = 300
    overlap_tokens: int = 30
    prefix: Literal["none", "heading"] = "none"
    max_prefix_tokens: int = 32

    def __post_init__(self) -> None:
        if self.prefix not in ("none", "heading"):
            raise ConfigError(f"prefix={self.prefix!r} must be 'none' or 'heading'")

    def segments(self, document: Document, model: EmbeddingModel) -> list[TextSegment]:
        """`index` 0, 1, 2 …; each text_to_embed is at most `model.max_tokens` long."""
        found = self.splitter(model).split(document)
        if self.prefix == "none":
            return found
        transformer = HeadingPrefix(model.tokenizer, model.max_tokens, max_prefix_tokens=self.max_prefix_tokens)
        return [transformer.transform(segment) for segment in found]

    def splitter(self, model: EmbeddingModel) -> RecursiveSplitter:
        room = self.max_prefix_tokens if self.prefix == "heading" else 0
        limit = max(min(_SMALLEST_ROOM, model.max_tokens), min(self.max_segment_tokens, model.max_tokens - room))
        return RecursiveSplitter(limit, min(self.overlap_tokens, limit // 2), model.tokenizer)

    def fingerprint(self, model_id: str) -> str:
        """The same bytes and fingerprint give the same segments: the model's tokenizer decides where to cut."""
        return text_hash(json.dumps([VERSION, model_id, asdict(self)], sort_keys=True))[:16]
